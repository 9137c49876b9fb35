#include <algorithm>

#include "lib/scaler/fp8_slots.hpp"

namespace tare {

using kernels::fp8::HostSlots;
using kernels::fp8::Slots;

std::unique_ptr<HostSlots> host_slots_of(const Fp8Set& set) {
  std::vector<float> largest(set.count());
  std::ranges::transform(set.formats, largest.begin(), fp8_largest);
  auto host = std::make_unique<HostSlots>(kernel_params(*set.policy, set.parameters),
                                          window_shape(*set.policy, set.parameters), largest);
  const Slots& slots = host->arrays();
  const auto length = static_cast<std::size_t>(set.parameters.history_length);
  const bool has_history = has(*set.policy, Fp8Array::history);
  for (std::uint32_t i = 0; i < host->count(); ++i) {
    if (has_history) host->set_history(i, std::span(set.history).subspan(i * length, length));
    if (has(*set.policy, Fp8Array::amax)) slots.amax[i] = bits_of(set.amax[i]);
    slots.steps[i] = static_cast<std::uint32_t>(set.counter[i]);
    const bool has_mu = slots.mu != nullptr;
    host->set_scale(i, has_mu ? static_cast<float>(set.mu[i]) : set.scale[i]);
    if (!has_mu) continue;
    slots.mu[i] = set.mu[i];
    slots.seen[i] = static_cast<std::uint64_t>(set.seen[i]);
    slots.at_largest[i] = static_cast<std::uint64_t>(set.at_largest[i]);
  }
  return host;
}

void read_back(Fp8Set& set, const HostSlots& host) {
  const Slots& slots = host.arrays();
  const auto length = static_cast<std::size_t>(set.parameters.history_length);
  for (std::uint32_t i = 0; i < host.count(); ++i) {
    if (has(*set.policy, Fp8Array::history)) {
      std::ranges::copy(host.history(i), set.history.begin() + static_cast<std::ptrdiff_t>(i * length));
    }
    set.amax[i] = float_from(slots.amax[i]);
    set.counter[i] = slots.steps[i];
    set.scale[i] = slots.scale[i];
    if (slots.mu == nullptr) continue;
    set.mu[i] = slots.mu[i];
    set.seen[i] = static_cast<std::int64_t>(slots.seen[i]);
    set.at_largest[i] = static_cast<std::int64_t>(slots.at_largest[i]);
  }
}

}  // namespace tare
