#include "lib/state/fp8_history.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "kernels/fp8/window.hpp"

namespace tare {
namespace {

using kernels::fp8::WindowShape;

/// What stands at `index` of a framework's array is that many steps old; of those in progress index 0 is no entry.
std::uint32_t age_of(const WindowShape& shape, std::uint32_t index) {
  return shape.ring() - 1 - kernels::fp8::ring_index(shape, index, 0);
}

/// Where the entry of each age stands.
std::vector<std::uint32_t> places_by_age(const WindowShape& shape) {
  std::vector<std::uint32_t> places(shape.ring());
  for (std::uint32_t index = shape.in_progress() ? 1 : 0; index < shape.length; ++index) {
    places[age_of(shape, index)] = index;
  }
  return places;
}

}  // namespace

bool is_history_length(const Fp8Set& set, std::string_view key) {
  const Fp8ParameterSpec* spec = find_parameter(*set.policy, key);
  return spec != nullptr && spec->member == Fp8Member(&Fp8Parameters::history_length);
}

Fp8Set with_history_length(const Fp8Set& set, std::string_view key, const StateValue& length) {
  Fp8Set resized = set;
  assign(resized, key, length);
  start_fresh(resized);
  std::vector<float> histories = std::move(resized.history);
  const WindowShape before = window_shape(*set.policy, set.parameters);
  const WindowShape after = window_shape(*set.policy, resized.parameters);
  const std::vector<std::uint32_t> from = places_by_age(before), to = places_by_age(after);
  for (std::size_t slot = 0; slot < set.count(); ++slot) {
    const auto old = std::span(set.history).subspan(slot * before.length, before.length);
    const auto anew = std::span(histories).subspan(slot * after.length, after.length);
    if (after.in_progress()) anew[0] = old[0];
    for (std::size_t age = 0; age < std::min(from.size(), to.size()); ++age) anew[to[age]] = old[from[age]];
  }
  const Fp8Parameters parameters = resized.parameters;
  resized = set;
  resized.parameters = parameters;
  resized.history = std::move(histories);
  return resized;
}

}  // namespace tare
