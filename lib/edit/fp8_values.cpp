#include "lib/edit/fp8_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/base/error.hpp"
#include "lib/base/glob.hpp"
#include "lib/base/text.hpp"
#include "lib/dialect/called.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/dialect/tare_fp8.hpp"
#include "lib/edit/fp8_changes.hpp"
#include "lib/edit/fp8_own.hpp"
#include "lib/edit/new_value.hpp"

namespace tare {
namespace {

using What = Fp8Key::What;

/// As given_number, but no flag.
double number_of_tensor(const StateValue& given) {
  const std::string text = given_text(given);
  if (text != "true" && text != "false") return given_number(given, "");
  throw Error(Status::invalid_argument, fmt::format("'{}' is no value", text),
              "write a number (65536, 2^16, 0x1p16, 0.5)");
}

void require_amax(double value) {
  if (value >= 0 && std::isfinite(value)) return;
  throw Error(Status::refused, fmt::format("{} is no amax: a number from 0 on", float_text(value)),
              "--force writes it all the same");
}

void set_history(Fp8Changes& changes, const Fp8Slot& slot, double amax) {
  if (slot.history_length() == 0) return;
  changes.set(*slot.history, {slot.history_index(0), amax, slot.history_length(), slot.history_stride()});
}

/// What all slots of a set share is not changed for some of them.
void require_all_slots(const FoundScaler& state, const Fp8Choice& choice, std::string_view what) {
  if (!choice.layer || fp8_slots(state, choice.layer).size() == fp8_slots(state).size()) return;
  throw Error(Status::refused,
              fmt::format("{}: {} goes for all of its slots, not for some layers'", called(state.path), what),
              "leave --layer out");
}

/// Only state that belongs to a running step: nothing stored was quantised with it.
NextScale next_scale_of(const FoundScaler& state) {
  if (const NextScale next = state.dialect->fp8.next_scale) return next;
  if (is_tare_fp8(state)) {
    throw Error(Status::refused,
                fmt::format("policy \"{}\" has no rule that makes a scale of a history", state.dialect->fp8.policy),
                "give the scales: tare edit STATE scale.TENSOR=...");
  }
  throw Error(Status::refused,
              fmt::format("{}: {} go with tensors of the file, whose values would change", called(state.path),
                          state.dialect->framework),
              "only the state of delayed scaling is reset or computed anew");
}

/// Of state whose columns are not known nothing is done, rather than a part of it.
std::vector<Fp8Slot> known_slots(const FoundScaler& state, const Fp8Choice& choice) {
  std::vector<Fp8Slot> slots = fp8_slots(state, choice.layer);
  if (!slots.empty()) return slots;
  throw Error(Status::refused, fmt::format("{}: its scales are of no tensors that tare knows", called(state.path)),
              "choose other layers with --layer; tare edit sets the fields by their own names");
}

/// The amax that the recipe's algorithm looks at.
float chosen_amax(const FoundScaler& state, const Fp8Slot& slot) {
  const std::vector<double> amaxes = slot.history_by_age();
  const Field* algorithm = recipe_field(state, slot.scale->name, "amax_compute_algo");
  const auto* word = algorithm == nullptr ? nullptr : std::get_if<std::string>(&algorithm->value.data);
  if (word != nullptr && *word == "most_recent") return amaxes.empty() ? 0 : static_cast<float>(amaxes.front());
  double largest = 0;
  for (const double amax : amaxes) largest = std::fmax(largest, amax);  // the kernels do not see a NaN either
  return static_cast<float>(largest);
}

float two_to_margin(const FoundScaler& state, const Fp8Slot& slot) {
  const Field* margin = recipe_field(state, slot.scale->name, "margin");
  const bool is_number = margin != nullptr && margin->value.number() != nullptr;
  return is_number ? std::exp2(static_cast<float>(margin->value.as_double())) : 1.0F;
}

/// One value for all slots that a key means.
struct GivenValue {
  const FoundScaler& state;
  const Fp8Choice& choice;
  double value;
  bool force;
  Fp8Changes changes = {};

  /// False where the key does not mean the slot.
  bool give(const Fp8Slot& slot, const Fp8Key& key) {
    const auto is_named = [&](const Field* field) {
      return key.what == What::native && field != nullptr && field->name == key.name;
    };
    const bool fits = key.what != What::native && is_tensor(state, choice, slot, key.name);
    if (fits && key.what == What::scale) {
      give_scale(slot, scale_from(slot, value));
    } else if (is_named(slot.scale)) {
      give_scale(slot, {stored_scale(slot.meaning, value), value});
    } else if (is_named(slot.scale_inv)) {
      give_scale(slot, scale_from(slot, stored_scale(ScaleMeaning::divisor, value)));
    } else if (slot.history != nullptr && (fits || is_named(slot.history))) {
      if (!force) require_amax(value);
      set_history(changes, slot, value);
    } else {
      return false;
    }
    return true;
  }

  void give_scale(const Fp8Slot& slot, const NewScale& scale) {
    if (!force) require_scale(scale.multiplier);
    if (!force) require_scale(kept_multiplier(slot, scale));
    if (!force) require_no_data(state, slot, scale.multiplier);
    set_scale(changes, slot, scale);
  }
};

/// A number that is no slot's: of a recipe, a counter.
std::vector<NewField> plain_value(const FoundScaler& state, const std::string& name, const StateValue& given,
                                  bool force) {
  const Field& field = *state.find(std::string_view(name));
  NewValue value = new_value(field, given, force);
  return {{name, std::move(value.after), std::visit([](const auto& data) -> NodeValue { return data; }, value.data)}};
}

std::string known_tensors(const std::vector<Fp8Slot>& slots) {
  std::string names;
  for (const Fp8Slot& slot : slots) names += (names.empty() ? "" : ", ") + slot.role;
  return names;
}

NewField with_elements(const Field& field, std::vector<std::int64_t> shape, Bytes elements) {
  const auto& array = std::get<PackedArray>(field.value.data);
  const PackedArray after{array.type, shape, elements};
  const std::string type =
      fmt::format("{}[{}]", field.value.type.substr(0, field.value.type.find('[')), fmt::join(shape, ","));
  return {field.name, {after, type}, NewTensor{std::move(shape), std::move(elements)}};
}

/// Rows from the front, and zeros behind them; the recipe's own number goes along.
std::vector<NewField> resized_rows(const FoundScaler& state, std::int64_t length) {
  std::vector<NewField> fields;
  for (const Field& field : state.fields) {
    if (field.name.ends_with("recipe.amax_history_len")) {
      fields.push_back({field.name, {Integer{length, {}}, "int"}, Integer{length, {}}});
    }
    const auto* array = std::get_if<PackedArray>(&field.value.data);
    if (array == nullptr || array->shape().size() != 2 || !field.name.starts_with("amax_history_")) continue;
    Bytes elements = array->bytes();
    elements.resize(static_cast<std::size_t>(length * array->shape()[1]) * array->type.size);
    fields.push_back(with_elements(field, {length, array->shape()[1]}, std::move(elements)));
  }
  return fields;
}

/// The slot's history where it is one that keeps its entries by age, along its last dimension.
const PackedArray* history_by_row(const Fp8Slot& slot) {
  const auto* array = slot.history == nullptr ? nullptr : std::get_if<PackedArray>(&slot.history->value.data);
  const bool has_rows = array != nullptr && !array->shape().empty() && (slot.columns == 0 || slot.rows != 0);
  return has_rows && static_cast<std::uint64_t>(array->shape().back()) == slot.history_length() ? array : nullptr;
}

/// Each entry where the rule looks for one of its age, as many as there is room for; zeros for those that never were.
std::vector<NewField> resized_by_age(const FoundScaler& state, std::int64_t length) {
  std::vector<std::pair<const Field*, Bytes>> histories;
  const auto wanted = static_cast<std::uint64_t>(length);
  for (const Fp8Slot& slot : fp8_slots(state)) {
    const PackedArray* array = history_by_row(slot);
    if (array == nullptr) continue;
    const std::uint64_t before = slot.history_length();
    const std::size_t size = array->type.size;
    if (slot.row == 0) histories.emplace_back(slot.history, Bytes(array->count() / before * wanted * size));
    const auto row = histories.back().second.begin() + static_cast<std::ptrdiff_t>(slot.row * wanted * size);
    for (std::uint64_t age = 0; age < std::min(before, wanted); ++age) {
      const std::uint64_t from = slot.history_index(entry_of_age(slot.order, before, age)) * size;
      std::copy_n(array->bytes().begin() + static_cast<std::ptrdiff_t>(from), size,
                  row + static_cast<std::ptrdiff_t>(entry_of_age(slot.order, wanted, age) * size));
    }
  }
  std::vector<NewField> fields;
  for (auto& [history, elements] : histories) {
    std::vector<std::int64_t> shape = std::get<PackedArray>(history->value.data).shape();
    shape.back() = length;
    fields.push_back(with_elements(*history, std::move(shape), std::move(elements)));
  }
  return fields;
}

}  // namespace

std::vector<NewField> new_fp8_values(const FoundScaler& state, const Fp8Key& key, const StateValue& wanted, bool force,
                                     const Fp8Choice& choice) {
  const double value = number_of_tensor(wanted);
  if (is_tare_fp8(state) && !std::isfinite(value)) {
    throw Error(Status::refused,
                fmt::format("'{}' of '{}': a state of tare's is not loaded with that", given_text(wanted), key.name),
                "give a finite number");
  }
  const std::vector<Fp8Slot> slots = fp8_slots(state, choice.layer);
  GivenValue given{state, choice, value, force};
  bool is_meant = false;
  for (const Fp8Slot& slot : slots) is_meant = given.give(slot, key) || is_meant;
  if (is_meant) return std::move(given.changes).take();
  if (key.what == What::native) {
    require_all_slots(state, choice, key.name);
    return plain_value(state, key.name, wanted, force);
  }
  throw Error(Status::refused,
              fmt::format("{} stores no {} of '{}'", called(state.path), key.what == What::scale ? "scale" : "history",
                          key.name),
              "its tensors are: " + known_tensors(slots));
}

std::vector<NewField> reset_fp8(const FoundScaler& state, std::int64_t length, const Fp8Choice& choice) {
  next_scale_of(state);
  Fp8Changes changes;
  for (const Fp8Slot& slot : known_slots(state, choice)) {
    set_scale(changes, slot, {});
    if (slot.newest != nullptr) changes.set(*slot.newest, {0, slot.format_max});  // as torchao starts
    if (length == 0) set_history(changes, slot, 0);
  }
  std::vector<NewField> fields = std::move(changes).take();
  if (length == 0) return fields;
  for (NewField& field : resized_fp8(state, length, choice)) {
    if (auto* anew = std::get_if<NewTensor>(&field.data)) {
      std::fill(anew->elements.begin(), anew->elements.end(), std::byte{0});
      auto& array = std::get<PackedArray>(field.after.data);
      array = {array.type, array.shape(), anew->elements};
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

std::vector<NewField> recomputed_fp8(const FoundScaler& state, const Fp8Choice& choice) {
  const NextScale next_scale = next_scale_of(state);
  if (const std::string functions = own_functions(state); !functions.empty()) {
    throw Error(Status::refused,
                fmt::format("{}: a function of its own makes its scales: {}", called(state.path), functions),
                "tare runs none; choose other layers with --layer, or give the scales with tare edit");
  }
  Fp8Changes changes;
  for (const Fp8Slot& slot : known_slots(state, choice)) {
    const float amax = chosen_amax(state, slot);
    if (!(amax > 0) || !std::isfinite(amax)) continue;
    const auto stored = static_cast<float>(stored_scale(slot.meaning, slot.multiplier()));
    const float next = next_scale(stored, amax, static_cast<float>(slot.format_max), two_to_margin(state, slot));
    set_scale(changes, slot, {stored_scale(slot.meaning, next), next});
  }
  return std::move(changes).take();
}

std::vector<NewField> resized_fp8(const FoundScaler& state, std::int64_t length, const Fp8Choice& choice) {
  require_all_slots(state, choice, "the length of its histories");
  const HistoryResize resize = state.dialect->fp8.resize;
  std::vector<NewField> fields;
  if (resize == HistoryResize::rows) fields = resized_rows(state, length);
  if (resize == HistoryResize::entry_age) fields = resized_by_age(state, length);
  if (is_tare_fp8(state)) fields = resized_slots(state, length);
  if (!fields.empty()) return fields;
  if (is_tare_fp8(state)) {
    throw Error(Status::refused, fmt::format("policy \"{}\" keeps no histories", state.dialect->fp8.policy),
                "`tare migrate STATE --to POLICY -o NEW` makes a state of it of a policy that does");
  }
  throw Error(Status::refused, fmt::format("{}: has no history that can be made longer or shorter", called(state.path)),
              "those of NVIDIA's TransformerEngine and of flax are; others' length is that of a configuration");
}

std::vector<NewField> regrouped_fp8(const FoundScaler& state, TeRelease release) {
  const auto has_columns_by_tensor = state.dialect->fp8.has_columns_by_tensor;
  if (has_columns_by_tensor != nullptr && has_columns_by_tensor(state)) {
    throw Error(Status::refused,
                fmt::format("{}: is of a release before 2.0, which orders its columns by tensor", called(state.path)),
                "`tare fp8 reencode CHECKPOINT --for RELEASE` gives them the order of that release");
  }
  const std::uint64_t products = static_cast<std::uint64_t>(extra_state_of(state).products);
  if (products == 1) {
    throw Error(Status::refused,
                fmt::format("{}: has one matrix product, whose columns have one order", called(state.path)),
                "choose the layers that are GroupedLinear with --layer");
  }
  Fp8Changes changes;
  for (const Field& field : state.fields) {
    const auto* array = std::get_if<PackedArray>(&field.value.data);
    if (array == nullptr || array->shape().empty() || array->count() == 0) continue;
    const auto width = static_cast<std::uint64_t>(array->shape().back());
    if (width % products != 0 || !array->has_numbers()) {
      throw Error(Status::refused, fmt::format("{}: its {}, {}, does not hold numbers of {} matrix products",
                                               called(state.path), field.name, field.value.type, products));
    }
    const std::uint64_t roles = width / products;
    for (std::uint64_t index = 0; index < array->count(); ++index) {
      const std::uint64_t column = index % width;
      const std::uint64_t by_product = column % roles * products + column / roles;  // where the old order has it
      const std::uint64_t by_role = column % products * roles + column / products;  // where the new one has it
      const std::uint64_t from = release >= first_by_product ? by_product : by_role;
      changes.set(field, {index, array->number_at(index - column + from)});
    }
  }
  return std::move(changes).take();
}

}  // namespace tare
