// A group of ranks that reduce numbers with one another. The engine is another's: here is none of our own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/launch.hpp"

struct CUstream_st;

namespace tare {

/// Every rank makes the same calls in the same order, with as many numbers; afterwards all have the same.
class Communicator {
 public:
  virtual ~Communicator() = default;

  /// Each word becomes the greatest of those of all ranks. Throws `backend` where the engine fails.
  virtual void maximum(std::span<std::uint64_t> words, kernels::Stream stream) = 0;
  /// Likewise their sum.
  virtual void sum(std::span<double> numbers, kernels::Stream stream) = 0;
};

/// The functions of a caller, as the C ABI's `tare_collectives` has them behind its size.
struct Collectives {
  void* context = nullptr;
  std::int32_t (*all_reduce)(void* context, void* data, std::uint64_t count, std::int32_t operation,
                             CUstream_st* stream) = nullptr;
};

/// What `all_reduce` is asked for. The numbers are those of the C ABI: never changed, never reused.
enum class Operation : std::int32_t { max_u64 = 1, sum_f64 = 2 };

/// REQUIRES: `all_reduce` is there.
std::shared_ptr<Communicator> communicator_of(const Collectives& collectives);

}  // namespace tare
