// What a backend can do with a list of tensors, with the same signatures on every backend. Pointers are raw and live
// where the backend computes (host memory on the CPU, device memory on CUDA). Work on a stream is only enqueued; the
// CPU ignores the stream and has finished when a call returns. Arguments are checked before (plan.hpp), not here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/dtype.hpp"
#include "kernels/finite_values.hpp"
#include "kernels/statistics.hpp"

namespace tare::kernels {

/// A contiguous array. Laid out as the C ABI's `tare_tensor`; the values are borrowed.
struct Tensor {
  void* data;
  std::uint64_t count;  ///< elements
  Dtype dtype;
  std::int32_t reserved;
};

/// Where a pass leaves what it finds. A null pointer means: not wanted.
struct Findings {
  float* found_inf = nullptr;      ///< set to 1 if a value read is infinite or NaN; never cleared (as torch does)
  Statistics* total = nullptr;     ///< merged into, so that several lists can share one; the caller clears it
  Statistics* each = nullptr;      ///< one a tensor, overwritten
  double threshold = 0;            ///< for Statistics::below, in the unit of the values as read
  FiniteValues* finite = nullptr;  ///< one a tensor, overwritten; of lists in host memory alone
};

/// How TensorList::write makes an output from a value: cast(clamp(value * inverse_scale * coefficient)). Both products
/// are rounded to f32 (f64 for f64 values); a factor of exactly 1 is not applied, as torch's unscale does it.
struct Transform {
  const float* inverse_scale = nullptr;  ///< null: 1
  const float* coefficient = nullptr;    ///< of clipping by norm; null: 1
  float limit = __builtin_inff();        ///< of clipping by value: the magnitude is at most this (NaN stays NaN)
};

using Stream = void*;  ///< CUDA's own `CUstream_st*`

/// A list of tensors made ready for many passes: nothing allocates in rebind, observe, unscale and write. Results do
/// not depend on the number of threads or on the instruction set.
class TensorList {
 public:
  virtual ~TensorList() = default;

  /// Takes another list, already checked by `find_defect`; allocates only where it outgrows every earlier one.
  /// Without the memory (std::bad_alloc, std::length_error) the list is as before or empty.
  virtual void assign(const Tensor* tensors, std::size_t count, Stream stream) = 0;
  /// Takes other addresses for the same shape; false (and nothing done) when a count or dtype differs.
  virtual bool rebind(const Tensor* tensors, std::size_t count, Stream stream) = 0;

  /// Reads only.
  virtual void observe(const Findings& findings, Stream stream) = 0;
  /// Multiplies in place, nan aside in every bit as torch's _amp_foreach_non_finite_check_and_unscale_.
  virtual void unscale(const float* inverse_scale, const Findings& findings, Stream stream) = 0;
  /// Writes the i-th tensor, transformed, into outputs[i], which has as many elements and is f32, f64, f16 or bf16. An
  /// output either is its input (with elements of the same size) or overlaps nothing.
  virtual void write(const Tensor* outputs, const Transform& transform, const Findings& findings, Stream stream) = 0;
};

/// One device's or one thread pool's lists. Lists of one backend are used one at a time and do not outlive it.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::unique_ptr<TensorList> make_list() = 0;
};

}  // namespace tare::kernels
