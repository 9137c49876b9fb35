// Quantising matrices by a recipe: its configuration, and what a list of matrices must be before a backend sees it.
#pragma once

#include <memory>
#include <span>

#include "kernels/fp8/matrix.hpp"
#include "lib/scaler/handles.hpp"

namespace tare {

struct QuantizerConfig {
  kernels::fp8::Quantisation how;
  int cuda_device = -1;  ///< below 0: the CPU
  unsigned threads = 1;
};

/// Throws `invalid_argument` and names the allowed keys.
QuantizerConfig parse_quantizer_config(const char* json);

class Quantizer {
 public:
  /// Throws `unsupported` in a build without CUDA, `backend` where there is no such device.
  explicit Quantizer(const QuantizerConfig& config);

  /// Throw `invalid_argument` or `unsupported` and name the matrix; nothing is done then.
  void quantise(std::span<const kernels::fp8::Matrix> matrices, void* stream);
  void dequantise(std::span<const kernels::fp8::Matrix> matrices, void* stream);

 private:
  void run(std::int32_t what, std::span<const kernels::fp8::Matrix> matrices, void* stream);

  kernels::fp8::Quantisation how_;
  const tare_backend_table& backend_;
  BackendHandle<tare_backend_quantiser> quantiser_;
};

}  // namespace tare
