#include <algorithm>
#include <cmath>

#include "lib/base/error.hpp"
#include "lib/scaler/cuda_scaler.hpp"
#include "lib/scaler/lists.hpp"
#include "lib/scaler/statistics.hpp"

namespace tare {

CudaGrads::CudaGrads(CudaScaler& scaler, std::span<const kernels::Tensor> tensors)
    : scaler_(scaler), list_(scaler.make_list()), tensors_(tensors.begin(), tensors.end()) {
  require_usable(tensors, kernels::Use::read);
  call_cuda(scaler_.cuda_.list_assign, list_.get(), tensors.data(), tensors.size());
}

void CudaGrads::rebind(std::span<const kernels::Tensor> tensors, kernels::Stream) {
  require_usable(tensors, kernels::Use::read);
  std::int32_t same = 0;
  call_cuda(scaler_.cuda_.list_rebind, list_.get(), tensors.data(), tensors.size(), &same);
  if (same == 0) refuse_other_shape();
  std::ranges::copy(tensors, tensors_.begin());
}

void CudaGrads::pass(std::int32_t what, std::int32_t steps, kernels::Stream stream) {
  if (what == TARE_CUDA_UNSCALE) require_usable(tensors_, kernels::Use::write);
  tare_cuda_pass pass = scaler_.pass_of(what);
  pass.steps = steps;
  call_cuda(scaler_.cuda_.list_pass, list_.get(), &pass, stream);
}

void CudaGrads::unscale(kernels::Stream stream) {
  pass(TARE_CUDA_UNSCALE, 0, stream);
}

void CudaGrads::observe(kernels::Stream stream) {
  pass(TARE_CUDA_OBSERVE, 0, stream);
}

void CudaGrads::unscale_and_update(kernels::Stream stream) {
  pass(TARE_CUDA_UNSCALE, 1, stream);
}

void CudaGrads::observe_and_update(kernels::Stream stream) {
  pass(TARE_CUDA_OBSERVE, 1, stream);
}

void CudaGrads::write(std::span<const kernels::Tensor> outputs, const char* options, kernels::Stream stream) {
  require_fitting(tensors_, outputs);
  const WriteOptions& wanted = options_.parsed(options);
  tare_cuda_pass pass = scaler_.pass_of(TARE_CUDA_WRITE);
  pass.unscales = wanted.unscale ? 1 : 0;
  pass.limit = wanted.clip_value > 0 ? static_cast<float>(wanted.clip_value) : INFINITY;
  pass.clip_norm = wanted.clip_norm;
  pass.outputs = outputs.data();
  call_cuda(scaler_.cuda_.list_pass, list_.get(), &pass, stream);
}

const void* CudaGrads::pointer(Shown which) const {
  if (which == Shown::scale || which == Shown::inverse_scale) return scaler_.pointer(which);
  const auto* core = static_cast<const kernels::ListCore*>(scaler_.cuda_.list_core(list_.get()));
  return pointer_to(core->shown, which);
}

std::string CudaGrads::statistics(kernels::Stream stream) const {
  kernels::ListCore core;
  std::vector<kernels::Statistics> each(tensors_.size());
  call_cuda(scaler_.cuda_.list_read, list_.get(), &core, each.data(), stream);
  return statistics_json(GradsReport{core.shown.found_inf != 0, scaler_.threshold_, core.seen, each});
}

}  // namespace tare
