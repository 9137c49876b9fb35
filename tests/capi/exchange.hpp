// Threads as the ranks of a comm whose engine knows them by number: reductions in their order, and exchanges of bytes.
#pragma once

#include <tare/tare.h>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

namespace tare::test {

class Exchange {
 public:
  explicit Exchange(std::size_t ranks) : from_(ranks), meet_(static_cast<std::ptrdiff_t>(ranks)), ranks_(ranks) {
    for (std::size_t rank = 0; rank < ranks; ++rank) seats_[rank] = {this, rank};
  }

  /// Of that rank's thread.
  tare_comm* comm(std::size_t rank, bool exchanges = true) {
    tare_collectives collectives{};
    collectives.struct_size = sizeof collectives;
    collectives.context = &seats_[rank];
    collectives.all_reduce = [](void* context, void* data, uint64_t count, int32_t operation, tare_stream) {
      return seat(context).all->all_reduce(seat(context).rank, data, count, operation);
    };
    if (exchanges) {
      collectives.all_to_all = [](void* context, const void* from, void* to, uint64_t bytes, tare_stream) {
        return seat(context).all->gather(seat(context).rank, from, to, bytes, seat(context).rank * bytes);
      };
      collectives.all_gather = [](void* context, const void* from, void* to, uint64_t bytes, tare_stream) {
        return seat(context).all->gather(seat(context).rank, from, to, bytes, 0);
      };
    }
    tare_comm* made = nullptr;
    tare_comm_from_callbacks(&made, &collectives, nullptr);
    return made;
  }
  /// The next exchange of bytes fails on every rank.
  void fail() { fails_ = true; }
  /// What rank 0 sent to others in exchanges.
  [[nodiscard]] std::size_t bytes_sent() const { return bytes_sent_; }

  static constexpr int32_t failure = 78;

 private:
  struct Seat {
    Exchange* all;
    std::size_t rank;
  };
  static Seat& seat(void* context) { return *static_cast<Seat*>(context); }

  int32_t gather(std::size_t rank, const void* from, void* to, uint64_t bytes, uint64_t offset) {
    if (fails_) return failure;
    if (rank == 0) bytes_sent_ += (ranks_ - 1) * bytes;
    from_[rank] = from;
    meet_.arrive_and_wait();
    for (std::size_t i = 0; i < ranks_; ++i) {
      std::memcpy(static_cast<char*>(to) + i * bytes, static_cast<const char*>(from_[i]) + offset, bytes);
    }
    meet_.arrive_and_wait();
    return 0;
  }

  template <class Number, class Join>
  void join(std::vector<unsigned char>& into, uint64_t count, const Join& both) const {
    for (std::size_t i = 0; i < count; ++i) {
      Number all{};
      for (std::size_t rank = 0; rank < ranks_; ++rank) {
        Number one;
        std::memcpy(&one, static_cast<const char*>(from_[rank]) + i * sizeof one, sizeof one);
        all = rank == 0 ? one : both(all, one);
      }
      std::memcpy(into.data() + i * sizeof all, &all, sizeof all);
    }
  }
  int32_t all_reduce(std::size_t rank, void* data, uint64_t count, int32_t operation) {
    from_[rank] = data;
    std::vector<unsigned char> joined(count * 8);
    meet_.arrive_and_wait();
    if (operation == TARE_MAX_U64) {
      join<uint64_t>(joined, count, [](uint64_t one, uint64_t other) { return std::max(one, other); });
    } else {
      join<double>(joined, count, [](double one, double other) { return one + other; });
    }
    meet_.arrive_and_wait();
    std::memcpy(data, joined.data(), joined.size());
    return 0;
  }

  static constexpr std::size_t most = 16;
  std::vector<const void*> from_;
  std::barrier<> meet_;
  std::size_t ranks_;
  std::size_t bytes_sent_ = 0;
  bool fails_ = false;
  Seat seats_[most];
};

}  // namespace tare::test
