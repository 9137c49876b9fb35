// Ranks that sum gradients in fp8 on a GPU, beside as many on the CPU. A rank is a thread.
#pragma once

#include <barrier>
#include <functional>
#include <thread>

#include "lib/codec/json.hpp"
#include "lib/collective/communicator.hpp"
#include "lib/scaler/fp8_scaler.hpp"
#include "tests/gpu/gpu.hpp"

namespace tare::kernels::test {

/// `each(rank)` on a thread a rank; returns when all have ended.
inline void on_ranks(std::size_t ranks, const std::function<void(std::size_t rank)>& each) {
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks; ++rank) threads.emplace_back(each, rank);
  for (std::thread& thread : threads) thread.join();
}

/// Functions of a comm for threads: what is on a GPU goes by way of the host, which waits.
class RankThreads {
 public:
  RankThreads(std::size_t ranks, bool on_gpu)
      : on_gpu_(on_gpu), given_(ranks), meet_(static_cast<std::ptrdiff_t>(ranks)) {
    for (std::size_t rank = 0; rank < ranks; ++rank) seats_.push_back({this, rank});
  }

  std::shared_ptr<Communicator> communicator(std::size_t rank) {
    const auto reduce = [](void* context, void* data, std::uint64_t count, std::int32_t operation, CUstream_st* on) {
      const Seat& seat = *static_cast<const Seat*>(context);
      seat.all->all_reduce(seat.rank, data, count, static_cast<Operation>(operation), on);
      return std::int32_t{0};
    };
    const auto to_all = [](void* context, const void* from, void* to, std::uint64_t bytes, CUstream_st* on) {
      const Seat& seat = *static_cast<const Seat*>(context);
      const std::size_t ranks = seat.all->given_.size();
      seat.all->exchange(seat.rank, from, ranks * bytes, to, bytes, seat.rank * bytes, on);
      return std::int32_t{0};
    };
    const auto from_all = [](void* context, const void* from, void* to, std::uint64_t bytes, CUstream_st* on) {
      const Seat& seat = *static_cast<const Seat*>(context);
      seat.all->exchange(seat.rank, from, bytes, to, bytes, 0, on);
      return std::int32_t{0};
    };
    return communicator_of(Collectives{&seats_[rank], reduce, on_gpu_, to_all, from_all});
  }

 private:
  struct Seat {
    RankThreads* all;
    std::size_t rank;
  };
  using Bytes = std::vector<unsigned char>;

  Bytes copied(const void* from, std::size_t size, cudaStream_t stream) const {
    Bytes copy(size);
    if (!on_gpu_) {
      std::memcpy(copy.data(), from, size);
    } else {
      must(cudaMemcpyAsync(copy.data(), from, size, cudaMemcpyDeviceToHost, stream));
      must(cudaStreamSynchronize(stream));
    }
    return copy;
  }
  void put(void* to, const Bytes& bytes, cudaStream_t stream) const {
    if (!on_gpu_) {
      std::memcpy(to, bytes.data(), bytes.size());
    } else {
      must(cudaMemcpyAsync(to, bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream));
      must(cudaStreamSynchronize(stream));
    }
  }

  template <class Number, class Join>
  static void join(Bytes& into, const Bytes& more, const Join& both) {
    for (std::size_t at = 0; at < into.size(); at += sizeof(Number)) {
      Number one;
      Number other;
      std::memcpy(&one, into.data() + at, sizeof one);
      std::memcpy(&other, more.data() + at, sizeof one);
      one = both(one, other);
      std::memcpy(into.data() + at, &one, sizeof one);
    }
  }
  void all_reduce(std::size_t rank, void* data, std::uint64_t count, Operation operation, cudaStream_t stream) {
    given_[rank] = copied(data, count * sizeof(double), stream);
    meet_.arrive_and_wait();
    Bytes all = given_[0];
    for (std::size_t other = 1; other < given_.size(); ++other) {
      if (operation == Operation::max_u64) {
        join<std::uint64_t>(all, given_[other], [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
      } else {
        join<double>(all, given_[other], [](double a, double b) { return a + b; });
      }
    }
    put(data, all, stream);
    meet_.arrive_and_wait();
  }
  void exchange(std::size_t rank, const void* from, std::size_t size, void* to, std::uint64_t bytes,
                std::uint64_t offset, cudaStream_t stream) {
    given_[rank] = copied(from, size, stream);
    meet_.arrive_and_wait();
    Bytes all;
    for (const Bytes& one : given_) {
      const auto first = one.begin() + static_cast<std::ptrdiff_t>(offset);
      all.insert(all.end(), first, first + static_cast<std::ptrdiff_t>(bytes));
    }
    put(to, all, stream);
    meet_.arrive_and_wait();
  }

  bool on_gpu_;
  std::vector<Bytes> given_;
  std::barrier<> meet_;
  std::vector<Seat> seats_;
};

inline std::string sum_slots_on(const char* device, const std::string& policy) {
  const std::string counted = R"(,"growth_steps":20,"threshold":0.002,"counted":"above_largest")";
  return R"({"slots":3,"format":["e4m3","e5m2","e4m3"],"policy":")" + policy + R"(","device":")" + device + "\"" +
         (policy == "fp8_lm" ? counted : "") + "}";
}

/// Gradients of one rank, the same in both memories. Shapes go by `shape`.
struct SumLists {
  static constexpr std::size_t tensors = 7;
  static constexpr std::uint32_t slots[tensors] = {0, 1, 2, 2, 0, 1, 0};

  explicit SumLists(std::size_t shape) {
    constexpr Dtype dtypes[] = {Dtype::f32, Dtype::f16, Dtype::bf16};
    const std::uint64_t counts[tensors] = {70000 / share() + shape, 37, 4500 / share() + 3, 1, 0, 513,
                                           100000 / share()};
    for (std::size_t i = 0; i < tensors; ++i) arrays.emplace_back(dtypes[(i + shape) % 3], counts[i], i);
    on_gpu = std::make_unique<GpuArrays>(arrays);
  }
  void fill_anew(std::mt19937_64& random, std::size_t step) {
    for (std::size_t i = 0; i < tensors; ++i) {
      fill(arrays[i], random, false);
      if (random() % 12 == 0 && arrays[i].count() > 0 && step % 3 == 1) {
        const float special = random() % 2 == 0 ? NAN : -__builtin_inff();
        arrays[i].set(random() % arrays[i].count(), encode(arrays[i].dtype(), special));
      }
      if (random() % 9 == 0) arrays[i] = Array(arrays[i].dtype(), arrays[i].count(), i);  // zeros
    }
    on_gpu->upload();
  }
  std::vector<Tensor> host() {
    std::vector<Tensor> all;
    for (Array& array : arrays) all.push_back(array.tensor());
    return all;
  }

  std::vector<Array> arrays;
  std::unique_ptr<GpuArrays> on_gpu;
};

using CommunicatorOfRank = std::function<std::shared_ptr<Communicator>(std::size_t rank)>;

/// Both kinds of slots of one rank.
struct SumRank {
  SumRank(const std::string& policy, std::size_t seed) : random(seed) {
    host = make_fp8_scaler(parse_fp8_config(sum_slots_on("cpu", policy).c_str()));
    device = make_fp8_scaler(parse_fp8_config(sum_slots_on("cuda:0", policy).c_str()));
  }

  std::mt19937_64 random;
  GpuStream stream;
  std::unique_ptr<Fp8Scaler> host;
  std::unique_ptr<Fp8Scaler> device;
};

/// Steps of all ranks on both; how many tensors, or states, came out different.
inline std::size_t differences_of_sums(std::size_t ranks, const std::string& policy, const char* options,
                                       std::size_t steps, const CommunicatorOfRank& on_gpu) {
  RankThreads on_host(ranks, false);
  std::vector<std::size_t> different(ranks);
  std::barrier<> idle(static_cast<std::ptrdiff_t>(ranks));  // uploads wait for the GPU, which all ranks share
  on_ranks(ranks, [&](std::size_t rank) {
    SumRank own(policy, 100 + rank);
    own.host->set_communicator(on_host.communicator(rank));
    own.device->set_communicator(on_gpu(rank));
    const AllReduceOptions how = parse_all_reduce_options(options);
    std::vector<std::unique_ptr<SumLists>> kept;  // so does freeing
    for (std::size_t step = 0; step < steps; ++step) {
      idle.arrive_and_wait();
      if (step % 5 == 0) kept.push_back(std::make_unique<SumLists>(step));
      SumLists* const lists = kept.back().get();
      lists->fill_anew(own.random, step);
      idle.arrive_and_wait();
      own.device->all_reduce(lists->on_gpu->tensors(), SumLists::slots, how, own.stream);
      own.host->all_reduce(lists->host(), SumLists::slots, how, nullptr);
      own.stream.wait();
      different[rank] += lists->on_gpu->different_from(lists->arrays);
      own.device->update(own.stream);
      own.host->update(nullptr);
      const std::string state = state_to_json(own.device->save(own.stream));
      different[rank] += state == state_to_json(own.host->save(nullptr)) ? 0 : 1;
    }
  });
  std::size_t all = 0;
  for (const std::size_t of_rank : different) all += of_rank;
  return all;
}

}  // namespace tare::kernels::test
