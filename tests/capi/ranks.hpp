// Threads as the ranks of a comm: they meet in each all-reduce, which a rank that leaves ends for all.
#pragma once

#include <tare/tare.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tare::test {

class Meeting {
 public:
  static constexpr int32_t somebody_left = 77;

  explicit Meeting(std::size_t ranks) : ranks_(ranks) {}

  int32_t all_reduce(void* data, uint64_t count, int32_t operation) {
    std::unique_lock lock(mutex_);
    ++calls_;
    auto* bytes = static_cast<unsigned char*>(data);
    if (arrived_ == 0) {
      joined_.assign(bytes, bytes + count * 8);
    } else {
      join(bytes, count, operation);
    }
    const unsigned round = round_;
    if (++arrived_ == ranks_) {
      arrived_ = 0;
      result_ = joined_;
      ++round_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return round_ != round || left_; });
    if (round_ == round) return somebody_left;
    std::memcpy(data, result_.data(), result_.size());
    return 0;
  }

  void leave() {
    const std::lock_guard lock(mutex_);
    left_ = true;
    changed_.notify_all();
  }

  /// Of all ranks together.
  std::size_t calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

  tare_comm* comm() {
    const tare_collectives collectives{sizeof collectives,
                                       this,
                                       [](void* context, void* data, uint64_t count, int32_t operation, tare_stream) {
                                         return static_cast<Meeting*>(context)->all_reduce(data, count, operation);
                                       },
                                       0,
                                       nullptr,
                                       nullptr};
    tare_comm* made = nullptr;
    tare_comm_from_callbacks(&made, &collectives, nullptr);
    return made;
  }

 private:
  template <class Number, class Join>
  void join_as(const unsigned char* bytes, uint64_t count, const Join& join) {
    for (std::size_t i = 0; i < count; ++i) {
      Number mine;
      Number others;
      std::memcpy(&mine, bytes + i * sizeof mine, sizeof mine);
      std::memcpy(&others, joined_.data() + i * sizeof mine, sizeof mine);
      const Number both = join(mine, others);
      std::memcpy(joined_.data() + i * sizeof mine, &both, sizeof mine);
    }
  }
  /// As signed words, which is what some engines have.
  void join(const unsigned char* bytes, uint64_t count, int32_t operation) {
    if (operation == TARE_MAX_U64) {
      join_as<int64_t>(bytes, count, [](int64_t one, int64_t other) { return std::max(one, other); });
    } else {
      join_as<double>(bytes, count, [](double one, double other) { return one + other; });
    }
  }

  std::size_t ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<unsigned char> joined_;
  std::vector<unsigned char> result_;
  std::size_t arrived_ = 0;
  std::size_t calls_ = 0;
  unsigned round_ = 0;
  bool left_ = false;
};

/// `each(rank)` on a thread a rank; returns when all have ended.
inline void on_ranks(std::size_t ranks, const std::function<void(std::size_t rank)>& each) {
  std::vector<std::thread> threads;
  threads.reserve(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) threads.emplace_back(each, rank);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tare::test
