// A group of ranks that reduce numbers with one another. The engine is another's: here is none of our own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/launch.hpp"

struct CUstream_st;

namespace tare {

/// The numbers are those of the C ABI, of which the last two are not a part: never changed, never reused.
enum class Operation : std::int32_t { max_u64 = 1, sum_f64 = 2, max_u32 = 3, sum_u64 = 4 };

/// Numbers that become those of all ranks, each by itself.
struct RankNumbers {
  void* data;
  std::uint64_t count;
  Operation operation;
};

/// Every rank makes the same calls in the same order, with as many numbers; afterwards all have the same.
class Communicator {
 public:
  virtual ~Communicator() = default;

  /// Throws `unsupported` where it does not reduce in memory of that GPU, or, below 0, of the host.
  virtual void require_device(int device) const = 0;
  /// Whether it does that, beside the two of the C ABI.
  virtual bool takes(Operation operation) const = 0;
  /// In one go where the engine can. Throws `backend` where the engine fails; on a GPU it is only enqueued.
  virtual void reduce(std::span<const RankNumbers> parts, kernels::Stream stream) = 0;
  /// Throws `unsupported` where the engine has none of the next two.
  virtual void require_exchange() const = 0;
  /// `bytes` for each rank, in their order, from each rank.
  virtual void all_to_all(const void* from, void* to, std::uint64_t bytes, kernels::Stream stream) = 0;
  /// `bytes` of each rank, in their order.
  virtual void all_gather(const void* from, void* to, std::uint64_t bytes, kernels::Stream stream) = 0;
  /// Throws `unsupported` where the engine has not the next one.
  virtual void require_fp8_sum() const = 0;
  /// Values of that format become the sums of all ranks', rounded as the engine does it.
  virtual void sum_fp8(void* data, std::uint64_t count, Dtype format, kernels::Stream stream) = 0;

  void maximum(std::span<std::uint64_t> words, kernels::Stream stream) {
    reduce_one({words.data(), words.size(), Operation::max_u64}, stream);
  }
  void sum(std::span<double> numbers, kernels::Stream stream) {
    reduce_one({numbers.data(), numbers.size(), Operation::sum_f64}, stream);
  }

 private:
  void reduce_one(const RankNumbers& part, kernels::Stream stream) { reduce({&part, 1}, stream); }
};

/// Throws `unsupported`; `engine`: "MPI has".
[[noreturn]] void refuse_fp8_sum(const char* engine);

/// The functions of a caller, as the C ABI's `tare_collectives` has them behind its size.
struct Collectives {
  void* context = nullptr;
  std::int32_t (*all_reduce)(void* context, void* data, std::uint64_t count, std::int32_t operation,
                             CUstream_st* stream) = nullptr;
  bool takes_device_memory = false;
  using Exchange = std::int32_t (*)(void* context, const void* from, void* to, std::uint64_t bytes,
                                    CUstream_st* stream);
  Exchange all_to_all = nullptr;  ///< or null, as the next
  Exchange all_gather = nullptr;
};

/// REQUIRES: `all_reduce` is there.
std::shared_ptr<Communicator> communicator_of(const Collectives& collectives);

}  // namespace tare
