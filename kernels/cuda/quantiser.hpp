// Matrices quantised on a GPU with scales of their own values. Calls enqueue, never wait, and may be captured: all that
// a launch has to know travels with it.
#pragma once

#include <span>

#include "kernels/cuda/matrices.hpp"
#include "kernels/cuda/order.hpp"

namespace tare::kernels::cuda {

/// Throws Failures and Refusals.
class DeviceQuantiser {
 public:
  /// Waits.
  DeviceQuantiser(int device, const fp8::Quantisation& how);
  DeviceQuantiser(const DeviceQuantiser&) = delete;
  DeviceQuantiser& operator=(const DeviceQuantiser&) = delete;

  int device() const { return device_.ordinal(); }
  /// Two launches where a scale is made of a whole matrix before its values are cast with it, one elsewhere; as many
  /// again for each 128 matrices. Refused: memory that the device cannot reach, here and below.
  void quantise(std::span<const fp8::Matrix> matrices, cudaStream_t stream);
  /// One launch; from the rowwise sides, or the columnwise ones where there are no others.
  void dequantise(std::span<const fp8::Matrix> matrices, cudaStream_t stream);

 private:
  void require_reachable(std::span<const fp8::Matrix> matrices) const;
  /// Takes as many of them as go into a launch, and returns the others.
  std::span<const fp8::Matrix> fill(std::span<const fp8::Matrix> matrices);
  void launch(Kernel kernel, std::uint32_t blocks, cudaStream_t stream) const;

  Device device_;
  Order order_;
  Room<MatrixProgress> progress_;
  MatrixArguments arguments_{};
};

}  // namespace tare::kernels::cuda
