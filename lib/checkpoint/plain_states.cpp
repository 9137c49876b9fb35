#include "lib/checkpoint/plain_states.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "lib/checkpoint/choose.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/dialect/fp8_state.hpp"
#include "lib/dialect/policy.hpp"
#include "lib/dialect/tare_fp8.hpp"

namespace tare {
namespace {

/// Layers that one set can hold: of one dialect, with histories of one length.
using Likeness = std::pair<std::string_view, std::uint64_t>;

std::uint64_t history_length(const FoundScaler& layer) {
  const std::vector<Fp8Slot> slots = fp8_slots(layer);
  return slots.empty() ? 0 : slots.front().history_length();
}

}  // namespace

std::vector<NamedState> plain_states(const Checkpoint& checkpoint, const std::optional<std::string>& at) {
  std::map<Likeness, std::vector<const FoundScaler*>> layers;
  std::vector<NamedState> own;
  bool has_scaler = false;
  for (const Scaler& scaler : checkpoint.scalers) {
    const FoundScaler& state = scaler.state();
    if (state.dialect->kind != "fp8") {
      has_scaler = has_scaler || !at || state.path == *at;
    } else if (is_tare_fp8(state)) {
      const std::vector<Fp8Slot> slots = fp8_slots(state, at);
      if (!slots.empty()) own.push_back({state.path, tare_fp8_state(state, slots)});
    } else if (!at || is_layer(state, *at)) {
      layers[{state.dialect->name, history_length(state)}].push_back(&state);
    }
  }
  std::vector<NamedState> states;
  if (has_scaler || (layers.empty() && own.empty())) {
    for (const Scaler* scaler : chosen_scalers(checkpoint, {at, true, false})) {
      states.push_back({scaler->state().path, to_state(scaler->state())});
    }
  }
  std::move(own.begin(), own.end(), std::back_inserter(states));
  if (!layers.empty()) chosen_fp8(checkpoint, {at, true});  // refuses copies that disagree
  for (const auto& [likeness, alike] : layers) {
    const auto& [framework, length] = likeness;
    const bool is_one_of_several =
        std::ranges::count(layers, framework, [](const auto& entry) { return entry.first.first; }) > 1;
    std::string name = is_one_of_several ? fmt::format("{}, history of {}", framework, length) : std::string(framework);
    states.push_back({std::move(name), fp8_state_of(alike)});
  }
  return states;
}

}  // namespace tare
