// What ranks that sum gradients in fp8 must have alike, and how they are to be summed.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/launch.hpp"

namespace tare {

enum class Combined : std::int32_t { mean, sum };
/// Who adds fp8: every rank its share, in f32; or the engine, as it does it.
enum class Adder : std::int32_t { ranks, engine };

struct AllReduceOptions {
  Combined combined = Combined::mean;
  Adder adder = Adder::ranks;
  std::uint64_t bucket_bytes = std::uint64_t{1}
                               << 26;  ///< of fp8 under way at once: buffers do not grow with the model
};

/// A JSON object {"operation":"mean","adder":"ranks","bucket_bytes":67108864}; null or empty: that. Throws
/// `invalid_argument`.
AllReduceOptions parse_all_reduce_options(const char* json);

struct GradientList {
  std::span<const kernels::Tensor> tensors;
  std::span<const std::uint32_t> slots;  ///< one a tensor
  std::span<const Dtype> formats;        ///< one a slot
};

/// Of all that must be the same on every rank; `mu`: one a slot, or null. Below 2^32.
std::uint64_t digest_of(const GradientList& list, const double* mu, const AllReduceOptions& options);

/// `words`: the greatest of all ranks' counts and digests, each before that of their complements; `count`: this rank's.
/// Throws `mismatch` where they are not the same.
void require_same_list(std::span<const std::uint64_t, 4> words, std::uint64_t count);

}  // namespace tare
