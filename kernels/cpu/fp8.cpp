#include "kernels/cpu/fp8.hpp"

#include <algorithm>
#include <stdexcept>

#include "kernels/backend.h"
#include "kernels/fp8/cast.hpp"

namespace tare::kernels::cpu {
namespace {

using fp8::Factor;
using fp8::Noted;
using fp8::Slots;

Factor factor_of(const Slots& slots, std::uint32_t slot) {
  return {slots.scale[slot], fp8::divides(slots.params.rule),
          fp8::counted_from(slots.params.fp8_lm, slots.fp8_max[slot])};
}

void add(const Slots& slots, std::uint32_t slot, const Noted& noted, std::uint64_t values) {
  slots.amax[slot] = std::max(slots.amax[slot], noted.amax);
  if (slots.seen == nullptr) return;
  slots.seen[slot] += values;
  slots.at_largest[slot] += noted.at_largest;
}

void observe(const Slots& slots, std::span<const Tensor> tensors, const std::uint32_t* slots_of) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::uint32_t slot = slots_of[i];
    add(slots, slot, fp8::observe(tensors[i], factor_of(slots, slot)), tensors[i].count);
  }
}

void quantise(const Slots& slots, std::span<const Tensor> tensors, const std::uint32_t* slots_of,
              const Tensor* outputs) {
  const bool notes = fp8::learns_from_casts(slots.params.rule);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::uint32_t slot = slots_of[i];
    const Noted noted = fp8::quantise(tensors[i], outputs[i], factor_of(slots, slot));
    if (notes) add(slots, slot, noted, tensors[i].count);
  }
}

void dequantise(const Slots& slots, std::span<const Tensor> tensors, const std::uint32_t* slots_of,
                const Tensor* outputs) {
  const float* factor = fp8::divides(slots.params.rule) ? slots.scale : slots.inverse;
  for (std::size_t i = 0; i < tensors.size(); ++i) fp8::dequantise(tensors[i], outputs[i], factor[slots_of[i]]);
}

}  // namespace

void Casts::assign(std::span<const Tensor> tensors, const std::uint32_t* slots) {
  tensors_.clear();
  slots_of_.reserve(tensors.size());
  tensors_.assign(tensors.begin(), tensors.end());
  slots_of_.assign(slots, slots + tensors.size());
}

bool Casts::rebind(std::span<const Tensor> tensors, const std::uint32_t* slots) {
  const auto same_shape = [](const Tensor& a, const Tensor& b) { return a.count == b.count && a.dtype == b.dtype; };
  if (!std::ranges::equal(tensors, tensors_, same_shape)) return false;
  if (!std::ranges::equal(std::span(slots, tensors.size()), slots_of_)) return false;
  std::ranges::copy(tensors, tensors_.begin());
  return true;
}

void Casts::run(std::int32_t what, const Tensor* outputs) const {
  cast(slots_.arrays(), what, tensors_, slots_of_.data(), outputs);
}

void cast(const Slots& slots, std::int32_t what, std::span<const Tensor> tensors, const std::uint32_t* slots_of,
          const Tensor* outputs) {
  switch (what) {
    case TARE_BACKEND_NOTE:
      return observe(slots, tensors, slots_of);
    case TARE_BACKEND_QUANTISE:
      return quantise(slots, tensors, slots_of, outputs);
    case TARE_BACKEND_DEQUANTISE:
      return dequantise(slots, tensors, slots_of, outputs);
    default:
      throw std::logic_error("no such cast");
  }
}

}  // namespace tare::kernels::cpu
