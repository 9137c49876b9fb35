#include "lib/dialect/fp8_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/error.hpp"
#include "lib/base/no_rule.hpp"
#include "lib/base/text.hpp"
#include "lib/base/whole_number.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/state/fp8_set.hpp"

namespace tare {
namespace {

constexpr auto parameters = std::to_array<std::string_view>({"margin", "amax_compute_algo"});
/// What else a recipe says, and what TransformerEngine takes where it says nothing.
constexpr auto without_parameter = std::to_array<std::pair<std::string_view, bool>>({
    {"reduce_amax", true},
    {"fp8_dpa", false},
    {"fp8_mha", false},
});
/// The arrays that may have a recipe each.
constexpr auto directions = std::to_array<std::string_view>({"scale_fwd", "scale_bwd"});

/// A number or a word that a slot's rule has a parameter for; null for a function of the user's own.
const Field* kept_field(const FoundScaler& layer, std::string_view array, std::string_view name) {
  const Field* field = recipe_field(layer, array, name);
  return field == nullptr || field->value.type == fp8_function_type ? nullptr : field;
}

std::string text_of(const Field& field) {
  const auto* word = std::get_if<std::string>(&field.value.data);
  if (word != nullptr) return *word;
  return field.value.number() == nullptr ? std::string() : float_text(field.value.as_double());
}

const Fp8PolicySpec& fp8_policy_of(const FoundScaler& layer) {
  const std::string_view policy = layer.dialect->fp8.policy;
  if (!policy.empty()) return require_fp8_policy(policy);
  throw NoRule(fmt::format("no policy runs the state of {}", layer.dialect->framework), "");
}

void take_recipe(Fp8Set& set, const FoundScaler& layer) {
  for (const std::string_view parameter : parameters) {
    const Field* field = kept_field(layer, directions.front(), parameter);
    if (field == nullptr) continue;
    if (const auto* word = std::get_if<std::string>(&field->value.data)) {
      assign(set, parameter, *word);
    } else if (field->value.number() != nullptr) {
      assign(set, parameter, field->value.as_double());
    }
  }
}

/// Of a tensor in any other 8 bits, as of one in e4m3.
Dtype format_of(const Fp8Slot& slot, const std::string& name) {
  for (const Dtype format : {Dtype::f8_e5m2, Dtype::f16, Dtype::bf16, Dtype::f32}) {
    if (slot.format_max == fp8_largest(format)) return format;
  }
  if (slot.format_max < fp8_largest(Dtype::f16)) return Dtype::f8_e4m3fn;
  throw NoRule(
      fmt::format("{} is scaled to a type whose largest number is {}: slots are of e4m3, e5m2, f16, bf16 or f32", name,
                  float_text(slot.format_max)),
      "choose other layers with --layer");
}

struct LayerSlot {
  const FoundScaler* layer;
  Fp8Slot slot;
};

void require_alike(const FoundScaler& first, const FoundScaler& layer) {
  const std::string wanted = recipe_text(first), its = recipe_text(layer);
  if (wanted == its) return;
  throw Error(Status::mismatch,
              fmt::format("{} has the recipe {}, {} has {}", layer_name(layer), its, layer_name(first), wanted),
              "choose layers that are alike with --layer");
}

void take_slot(Fp8Set& set, std::size_t index, const LayerSlot& place) {
  const Fp8Slot& slot = place.slot;
  const auto length = static_cast<std::uint64_t>(set.parameters.history_length);
  set.scale[index] = static_cast<float>(stored_scale(slot.meaning, slot.multiplier()));
  for (std::uint64_t entry = 0; entry < slot.history_length(); ++entry) {
    set.history[index * length + entry] = static_cast<float>(slot.stored_amax(entry));
  }
  if (slot.newest != nullptr && !set.amax.empty()) set.amax[index] = static_cast<float>(slot.newest_amax());
  const Field* counter = place.layer->find(std::string_view("amax_counter"));
  if (!set.counter.empty() && counter != nullptr && counter->value.number() != nullptr) {
    set.counter[index] = whole_number(counter->value.as_double()).value_or(0);
  }
}

}  // namespace

std::string recipe_text(const FoundScaler& layer) {
  std::string text;
  for (const std::string_view parameter : parameters) {
    const Field* ahead = kept_field(layer, directions.front(), parameter);
    const Field* back = kept_field(layer, directions.back(), parameter);
    if (ahead == nullptr || back == nullptr) continue;
    const std::string value = text_of(*ahead), other = text_of(*back);
    if (value != other) {
      throw Error(Status::mismatch,
                  fmt::format("{} has a {} of {} ahead and of {} back, and a state has one", layer_name(layer),
                              parameter, value, other),
                  "choose other layers with --layer");
    }
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", parameter, value);
  }
  return text;
}

std::string recipe_without_parameters(const FoundScaler& layer) {
  std::string text = own_functions(layer);
  for (const auto& [name, usual] : without_parameter) {
    const Field* field = recipe_field(layer, directions.front(), name);
    if (field == nullptr || field->value.number() == nullptr || (field->value.as_double() != 0) == usual) continue;
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", field->name, usual ? "False" : "True");
  }
  return text;
}

ScalerState fp8_state_of(std::span<const FoundScaler* const> layers) {
  if (layers.empty()) throw Error(Status::not_found, "there is no FP8 state");
  Fp8Set set{};
  set.policy = &fp8_policy_of(*layers.front());
  set.parameters = default_parameters(*set.policy);
  take_recipe(set, *layers.front());
  std::vector<LayerSlot> places;
  for (const FoundScaler* layer : layers) {
    if (layer->dialect->name != layers.front()->dialect->name) {
      throw Error(Status::mismatch, "the FP8 state of several frameworks makes no single state", "choose with --layer");
    }
    require_alike(*layers.front(), *layer);
    for (Fp8Slot& slot : fp8_slots(*layer)) places.push_back({layer, std::move(slot)});
  }
  const std::uint64_t length = places.empty() ? 0 : places.front().slot.history_length();
  set.parameters.history_length = static_cast<std::int64_t>(std::max<std::uint64_t>(length, 1));
  for (const LayerSlot& place : places) {
    const std::string name = fmt::format("{}/{}", layer_name(*place.layer), place.slot.role);
    if (place.slot.scale_count() != 1) {
      throw Error(Status::mismatch,
                  fmt::format("{} has {} scales, and a slot of a state has one", name, place.slot.scale_count()),
                  "choose other layers with --layer");
    }
    if (place.slot.history_length() != length) {
      throw Error(Status::mismatch,
                  fmt::format("{} has a history of {} entries, {} has {}", name, place.slot.history_length(),
                              layer_name(*layers.front()), length),
                  "choose layers that are alike with --layer");
    }
    set.names.push_back(name);
    set.formats.push_back(format_of(place.slot, name));
  }
  start_fresh(set);
  for (std::size_t i = 0; i < places.size(); ++i) take_slot(set, i, places[i]);
  return to_state(set);
}

}  // namespace tare
