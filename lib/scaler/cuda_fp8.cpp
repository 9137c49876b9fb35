#include "lib/scaler/cuda_fp8.hpp"

#include <algorithm>

#include "lib/scaler/fp8_slots.hpp"

namespace tare {
namespace {

/// Inputs, weights and gradients of a step, each observed, cast and cast back.
constexpr std::size_t kMostCasts = 16;

tare_cuda_slots* make_on_device(const tare_cuda_table& cuda, int device, const Fp8Set& set) {
  const auto host = host_slots_of(set);
  tare_cuda_slots* made = nullptr;
  call_cuda(cuda.slots_make, &made, device, &host->arrays());
  return made;
}

}  // namespace

CudaFp8::CudaFp8(const Fp8Set& start, int device)
    : Fp8Scaler(start), cuda_(cuda_library()), slots_(make_on_device(cuda_, device, start)) {
  casts_.reserve(kMostCasts);
}

const kernels::fp8::Slots& CudaFp8::arrays() const {
  return *static_cast<const kernels::fp8::Slots*>(cuda_.slots_arrays(slots_.get()));
}

void CudaFp8::update(kernels::Stream stream) {
  call_cuda(cuda_.slots_step, slots_.get(), stream);
}

tare_cuda_casts* CudaFp8::casts_of(std::span<const kernels::Tensor> tensors, SlotsOf slots) {
  for (auto casts = casts_.begin(); casts != casts_.end(); ++casts) {
    std::int32_t same = 0;
    call_cuda(cuda_.casts_rebind, casts->get(), tensors.data(), slots.data(), tensors.size(), &same);
    if (same == 0) continue;
    std::rotate(casts_.begin(), casts, casts + 1);
    return casts_.front().get();
  }
  const auto casts = unused_casts();
  call_cuda(cuda_.casts_assign, casts->get(), tensors.data(), slots.data(), tensors.size());
  std::rotate(casts_.begin(), casts, casts + 1);
  return casts_.front().get();
}

std::vector<CudaFp8::Casts>::iterator CudaFp8::unused_casts() {
  const auto is_free = [&](const Casts& casts) { return cuda_.casts_are_captured(casts.get()) == 0; };
  const auto last = std::find_if(casts_.rbegin(), casts_.rend(), is_free);
  if (casts_.size() >= kMostCasts && last != casts_.rend()) return std::prev(last.base());
  tare_cuda_casts* made = nullptr;
  call_cuda(cuda_.casts_make, &made, slots_.get());
  return casts_.emplace(casts_.end(), made);
}

void CudaFp8::run(std::int32_t what, std::span<const kernels::Tensor> inputs, const kernels::Tensor* outputs,
                  SlotsOf slots, kernels::Stream stream) {
  call_cuda(cuda_.casts_run, casts_of(inputs, slots), what, outputs, stream);
}

void CudaFp8::note(std::span<const kernels::Tensor> tensors, SlotsOf slots, kernels::Stream stream) {
  run(TARE_CUDA_NOTE, tensors, nullptr, slots, stream);
}

void CudaFp8::narrow(std::span<const kernels::Tensor> inputs, const kernels::Tensor* outputs, SlotsOf slots,
                     kernels::Stream stream) {
  run(TARE_CUDA_QUANTISE, inputs, outputs, slots, stream);
}

void CudaFp8::widen(std::span<const kernels::Tensor> inputs, const kernels::Tensor* outputs, SlotsOf slots,
                    kernels::Stream stream) {
  run(TARE_CUDA_DEQUANTISE, inputs, outputs, slots, stream);
}

void CudaFp8::read(kernels::fp8::HostSlots& host, kernels::Stream stream) const {
  call_cuda(cuda_.slots_read, slots_.get(), &host.arrays(), stream);
}

void CudaFp8::write(const kernels::fp8::HostSlots& host, kernels::Stream stream) {
  call_cuda(cuda_.slots_write, slots_.get(), &host.arrays(), stream);
}

}  // namespace tare
