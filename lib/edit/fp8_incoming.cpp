#include "lib/edit/fp8_incoming.hpp"

#include <fmt/format.h>

#include <limits>
#include <span>
#include <type_traits>

#include "lib/base/error.hpp"
#include "lib/dialect/called.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/dialect/tare_fp8.hpp"
#include "lib/edit/fp8_changes.hpp"
#include "lib/edit/new_value.hpp"

namespace tare {
namespace {

/// MS-AMP's, one a tensor.
constexpr std::string_view counter_field = "amax_counter";

double number_at(const StateArray& array, std::size_t i) {
  const auto number = [i]<class Item>(const std::vector<Item>& items) {
    if constexpr (std::is_arithmetic_v<Item>) return static_cast<double>(items[i]);
    return std::numeric_limits<double>::quiet_NaN();
  };
  return std::visit(number, array.values);
}

void set_history(Fp8Changes& changes, const Fp8Slot& slot, std::span<const float> amaxes, const std::string& name) {
  if (slot.history_length() != amaxes.size()) {
    throw Error(Status::refused,
                fmt::format("'{}' has a history of {} entries, the state one of {}", name, slot.history_length(),
                            amaxes.size()),
                "choose layers whose histories are of one length");
  }
  for (std::uint64_t entry = 0; entry < amaxes.size(); ++entry) {
    changes.set(*slot.history, {slot.history_index(entry), amaxes[entry]});
  }
}

}  // namespace

IncomingFp8::IncomingFp8(const ScalerState& state) : set_(start_fp8_from(state)) {
  state_ = to_state(set_);
  for (std::size_t i = 0; i < set_.names.size(); ++i) slots_.emplace(set_.names[i], i);
}

/// The amax of a step whose scale is not made yet, or else the newest that made one.
float IncomingFp8::newest_of(std::size_t slot, std::span<const float> history, AgeOrder order) const {
  const float seen = set_.amax.empty() ? 0 : set_.amax[slot];
  return seen > 0 ? seen : history[entry_of_age(order, history.size(), 0)];
}

std::vector<NewField> IncomingFp8::fields_of(const FoundScaler& layer, const Fp8Choice& choice, bool force) const {
  if (is_tare_fp8(layer)) return own_fields(layer, choice, force);
  const auto length = static_cast<std::size_t>(set_.parameters.history_length);
  Fp8Changes changes;
  std::vector<NewField> counters;
  for (const Fp8Slot& slot : fp8_slots(layer)) {
    const std::string name = fmt::format("{}/{}", layer_name(layer), slot.role);
    const auto known = slots_.find(name);
    if (known == slots_.end()) continue;
    const std::size_t i = known->second;
    const double stored = set_.scale[i];
    const double multiplier = stored_scale(slot.meaning, stored);
    if (!force) require_scale(multiplier);
    if (!force) require_scale(kept_multiplier(slot, {multiplier, stored}));
    if (!force) require_no_data(layer, slot, multiplier);
    set_scale(changes, slot, {multiplier, stored});
    if (slot.history != nullptr && !set_.history.empty()) {
      const auto history = std::span(set_.history).subspan(i * length, length);
      set_history(changes, slot, history, name);
      if (slot.newest != nullptr) changes.set(*slot.newest, {0, newest_of(i, history, slot.order)});
    }
    const Field* counter = set_.counter.empty() ? nullptr : layer.find(counter_field);
    if (counter == nullptr) continue;
    NewValue value = new_value(*counter, StateValue(set_.counter[i]), force);
    counters.push_back({counter->name, std::move(value.after),
                        std::visit([](const auto& data) -> NodeValue { return data; }, value.data)});
  }
  std::vector<NewField> fields = std::move(changes).take();
  for (NewField& counter : counters) fields.push_back(std::move(counter));
  return fields;
}

/// Its fields are the policy's, a row a slot.
std::vector<NewField> IncomingFp8::own_fields(const FoundScaler& state, const Fp8Choice& choice, bool force) const {
  const std::vector<Fp8Slot> slots = fp8_slots(state, choice.layer);
  const std::size_t count = fp8_slots(state).size();
  for (const Fp8Slot& slot : slots) {
    const auto known = slots_.find(slot.role);
    if (known != slots_.end() && !force) require_scale(stored_scale(slot.meaning, set_.scale[known->second]));
  }
  Fp8Changes changes;
  for (const auto& [name, value] : state_.fields) {
    const Field* field = state.find(std::string_view(fmt::format("fields.{}", name)));
    const auto* numbers = std::get_if<StateArray>(&value);
    if (field == nullptr || numbers == nullptr || slots.empty()) continue;
    const auto* array = std::get_if<PackedArray>(&field->value.data);
    const std::size_t width = numbers->size() / set_.count();
    if (array == nullptr || array->count() != width * count) {
      throw Error(Status::refused,
                  fmt::format("{}: {} has other rows than what comes in", called(state.path), field->name),
                  "migrate to a new file: --to POLICY -o STATE.json");
    }
    for (const Fp8Slot& slot : slots) {
      const auto known = slots_.find(slot.role);
      if (known == slots_.end()) continue;
      for (std::size_t i = 0; i < width; ++i) {
        changes.set(*field, {slot.row * width + i, number_at(*numbers, known->second * width + i)});
      }
    }
  }
  return std::move(changes).take();
}

}  // namespace tare
