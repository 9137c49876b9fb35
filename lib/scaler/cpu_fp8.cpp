#include "lib/scaler/cpu_fp8.hpp"

#include <algorithm>

#include "kernels/fp8/cast.hpp"
#include "lib/scaler/fp8_slots.hpp"

namespace tare {
namespace {

using kernels::fp8::Factor;
using kernels::fp8::Noted;
using kernels::fp8::Slots;

Factor factor_of(const Slots& slots, std::uint32_t slot) {
  return {slots.scale[slot], kernels::fp8::divides(slots.params.rule), slots.fp8_max[slot]};
}

void add(const Slots& slots, std::uint32_t slot, const Noted& noted, std::uint64_t values) {
  slots.amax[slot] = std::max(slots.amax[slot], noted.amax);
  if (slots.seen == nullptr) return;
  slots.seen[slot] += values;
  slots.at_largest[slot] += noted.at_largest;
}

}  // namespace

CpuFp8::CpuFp8(const Fp8Set& start) : Fp8Scaler(start), slots_(host_slots_of(start)) {}

void CpuFp8::update(kernels::Stream) {
  slots_->step();
}

void CpuFp8::note(std::span<const kernels::Tensor> tensors, SlotsOf slots, kernels::Stream) {
  const Slots& all = arrays();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    add(all, slots[i], kernels::fp8::observe(tensors[i], factor_of(all, slots[i])), tensors[i].count);
  }
}

void CpuFp8::narrow(std::span<const kernels::Tensor> inputs, const kernels::Tensor* outputs, SlotsOf slots,
                    kernels::Stream) {
  const Slots& all = arrays();
  const bool notes = kernels::fp8::learns_from_casts(all.params.rule);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Noted noted = kernels::fp8::quantise(inputs[i], outputs[i], factor_of(all, slots[i]));
    if (notes) add(all, slots[i], noted, inputs[i].count);
  }
}

void CpuFp8::widen(std::span<const kernels::Tensor> inputs, const kernels::Tensor* outputs, SlotsOf slots,
                   kernels::Stream) {
  const float* factor = pointer(Fp8Shown::scale_inv);
  for (std::size_t i = 0; i < inputs.size(); ++i) kernels::fp8::dequantise(inputs[i], outputs[i], factor[slots[i]]);
}

void CpuFp8::read(kernels::fp8::HostSlots& host, kernels::Stream) const {
  host.assign(*slots_);
}

void CpuFp8::write(const kernels::fp8::HostSlots& host, kernels::Stream) {
  slots_->assign(host);
}

}  // namespace tare
