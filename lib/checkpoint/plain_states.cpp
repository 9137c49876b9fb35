#include "lib/checkpoint/plain_states.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "lib/base/alike.hpp"
#include "lib/checkpoint/choose.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/dialect/fp8_state.hpp"
#include "lib/dialect/policy.hpp"
#include "lib/dialect/tare_fp8.hpp"

namespace tare {
namespace {

/// Layers that one set can hold: of one dialect, with histories of one length, with one recipe.
struct Likeness {
  std::string_view dialect;
  std::uint64_t history = 0;
  std::string recipe;

  friend auto operator<=>(const Likeness&, const Likeness&) = default;
};

using Layers = std::map<Likeness, std::vector<const FoundScaler*>>;

/// "transformer_engine", and what tells it from the others of its framework.
std::string name_among(const Layers& layers, const Likeness& likeness) {
  std::string name(likeness.dialect);
  const auto is_other = [&](const auto& differs) {
    return std::ranges::any_of(
        layers, [&](const auto& entry) { return entry.first.dialect == likeness.dialect && differs(entry.first); });
  };
  if (is_other([&](const Likeness& other) { return other.history != likeness.history; })) {
    name += fmt::format(", history of {}", likeness.history);
  }
  if (is_other([&](const Likeness& other) { return other.recipe != likeness.recipe; })) name += ", " + likeness.recipe;
  return name;
}

std::uint64_t history_length(const FoundScaler& layer) {
  const std::vector<Fp8Slot> slots = fp8_slots(layer);
  return slots.empty() ? 0 : slots.front().history_length();
}

}  // namespace

std::vector<NamedState> plain_states(const Checkpoint& checkpoint, const std::optional<std::string>& at) {
  Layers layers;
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
      layers[{state.dialect->name, history_length(state), recipe_text(state)}].push_back(&state);
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
    states.push_back({name_among(layers, likeness), fp8_state_of(alike)});
  }
  return states;
}

std::vector<Finding> lost_in_plain_states(const Checkpoint& checkpoint, const std::optional<std::string>& at) {
  AlikeFindings lost;
  for (const Scaler& scaler : checkpoint.scalers) {
    const FoundScaler& state = scaler.state();
    if (state.dialect->kind != "fp8" || (at && !is_layer(state, *at))) continue;
    const std::string recipe = recipe_without_parameters(state);
    if (recipe.empty()) continue;
    lost.add({Severity::warning, "recipe-not-kept", recipe + ": a state has no place for it", "", layer_name(state)},
             recipe);
  }
  return lost.take("layer");
}

}  // namespace tare
