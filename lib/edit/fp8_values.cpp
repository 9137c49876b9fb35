#include "lib/edit/fp8_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "kernels/fp8/flax.hpp"
#include "kernels/fp8/transformer_engine.hpp"
#include "lib/base/error.hpp"
#include "lib/base/glob.hpp"
#include "lib/base/text.hpp"
#include "lib/dialect/fp8_slots.hpp"

namespace tare {
namespace {

constexpr std::string_view scale_key = "scale.";
constexpr std::string_view history_key = "amax_history.";

double parsed(const std::string& text) {
  const auto number = parse_number(text);
  if (number) return *number;
  throw Error(Status::invalid_argument, fmt::format("'{}' is no value", text),
              "write a number (65536, 2^16, 0x1p16, 0.5)");
}

void require_useful(const Fp8Key& key, double value) {
  const bool is_useful = key.is_scale ? value > 0 && value <= std::numeric_limits<float>::max() : value >= 0;
  if (is_useful && std::isfinite(value)) return;
  throw Error(Status::refused,
              fmt::format("{} is no {}", float_text(value),
                          key.is_scale ? "scale: a positive number of float32's range" : "amax: a number from 0 on"),
              "--force writes it all the same");
}

/// The fields that change, each with all its new elements.
class Changes {
 public:
  void set(const Field& field, std::uint64_t index, double value) {
    const auto [known, is_new] = numbers_.try_emplace(&field, fields_.size());
    if (is_new) fields_.push_back({field.name, field.value, NewElements()});
    std::get<NewElements>(fields_[known->second].data).push_back({index, value});
  }

  std::vector<NewField> take() && {
    for (NewField& field : fields_) write(field);
    return std::move(fields_);
  }

 private:
  static void write(NewField& field) {
    const auto& elements = std::get<NewElements>(field.data);
    if (auto* array = std::get_if<PackedArray>(&field.after.data)) {
      Bytes bytes = *array->bytes;
      for (const NewElement& element : elements) {
        const Bytes one = element_bytes(array->type, element.value, std::endian::little);
        std::copy(one.begin(), one.end(),
                  bytes.begin() + static_cast<std::ptrdiff_t>(element.index * array->type.size));
      }
      array->bytes = std::make_shared<const Bytes>(std::move(bytes));
      return;
    }
    Value* one = &field.after;
    while (auto* list = std::get_if<ValueList>(&one->data)) one = &list->front();
    // A framework's scale of one element is a tensor: float32, unless the type says otherwise.
    const std::string& type = field.after.type;
    const std::size_t from = type.find(':') + 1;
    const ElementType element = element_type(type.substr(from, type.find('[') - from));
    const double value = elements.back().value;
    one->data = element.size == 0
                    ? value
                    : element_value(element, element_bytes(element, value, std::endian::little).data()).as_double();
  }

  std::vector<NewField> fields_;
  std::map<const Field*, std::size_t> numbers_;
};

void set_scale(Changes& changes, const Fp8Slot& slot, double multiplier) {
  for (std::uint64_t i = 0; i < slot.scale_count(); ++i) {
    changes.set(*slot.scale, slot.scale_index(i), stored_scale(slot.meaning, multiplier));
    if (slot.scale_inv != nullptr) changes.set(*slot.scale_inv, slot.scale_index(i), 1 / multiplier);
  }
}

void set_history(Changes& changes, const Fp8Slot& slot, double amax) {
  for (std::uint64_t entry = 0; entry < slot.history_length(); ++entry) {
    changes.set(*slot.history, slot.history_index(entry), amax);
  }
}

/// A framework's rule: the scale as it is stored, after an amax.
struct ScaleRule {
  std::string_view dialect;
  float (*next)(float stored, float amax, float fp8_max, float two_to_margin);
};

float transformer_engine_scale(float stored, float amax, float fp8_max, float two_to_margin) {
  return kernels::fp8::next_scale(kernels::fp8::TransformerEngineParams{.two_to_margin = two_to_margin}, stored, amax,
                                  fp8_max);
}

float flax_scale(float stored, float amax, float fp8_max, float two_to_margin) {
  return kernels::fp8::next_scale(kernels::fp8::FlaxParams{two_to_margin}, stored, amax, fp8_max);
}

/// Source: torchao/float8/float8_utils.py, amax_history_to_scale.
float torchao_scale(float, float amax, float fp8_max, float) {
  constexpr float least_amax = 1e-12F;
  return fp8_max / std::max(amax, least_amax);
}

/// Only state that belongs to a running step: nothing stored was quantised with it.
constexpr auto scale_rules = std::to_array<ScaleRule>({
    {"transformer_engine", transformer_engine_scale},
    {"transformer_engine_jax", transformer_engine_scale},
    {"flax", flax_scale},
    {"keras", flax_scale},
    {"torchao_delayed", torchao_scale},
});

const ScaleRule& rule_of(const FoundScaler& state) {
  const auto rule = std::find_if(scale_rules.begin(), scale_rules.end(),
                                 [&](const ScaleRule& r) { return r.dialect == state.dialect->name; });
  if (rule != scale_rules.end()) return *rule;
  throw Error(Status::refused,
              fmt::format("'{}': {} go with tensors of the file, whose values would change", state.path,
                          state.dialect->framework),
              "only the state of delayed scaling is reset or computed anew");
}

/// The amax that the recipe's algorithm looks at.
float chosen_amax(const FoundScaler& state, const Fp8Slot& slot) {
  const std::vector<double> amaxes = slot.history_by_age();
  const Field* algorithm = state.find(std::string_view("recipe.amax_compute_algo"));
  const auto* word = algorithm == nullptr ? nullptr : std::get_if<std::string>(&algorithm->value.data);
  if (word != nullptr && *word == "most_recent") return amaxes.empty() ? 0 : static_cast<float>(amaxes.front());
  double largest = 0;
  for (const double amax : amaxes) largest = std::fmax(largest, amax);  // the kernels do not see a NaN either
  return static_cast<float>(largest);
}

float two_to_margin(const FoundScaler& state) {
  const Field* margin = state.find(std::string_view("recipe.margin"));
  const bool is_number = margin != nullptr && margin->value.number() != nullptr;
  return is_number ? std::exp2(static_cast<float>(margin->value.as_double())) : 1.0F;
}

std::string known_tensors(const std::vector<Fp8Slot>& slots) {
  std::string names;
  for (const Fp8Slot& slot : slots) names += (names.empty() ? "" : ", ") + slot.role;
  return names;
}

}  // namespace

std::optional<Fp8Key> parse_fp8_key(std::string_view key) {
  for (const std::string_view beginning : {scale_key, history_key}) {
    if (!key.starts_with(beginning) || key.size() == beginning.size()) continue;
    return Fp8Key{beginning == scale_key, std::string(key.substr(beginning.size()))};
  }
  return std::nullopt;
}

std::vector<NewField> new_fp8_values(const FoundScaler& state, const Fp8Key& key, const std::string& text, bool force) {
  const double value = parsed(text);
  if (!force) require_useful(key, value);
  Changes changes;
  const std::vector<Fp8Slot> slots = fp8_slots(state);
  bool is_meant = false;
  for (const Fp8Slot& slot : slots) {
    if (!glob_matches(key.tensor, slot.role) || (!key.is_scale && slot.history == nullptr)) continue;
    is_meant = true;
    key.is_scale ? set_scale(changes, slot, value) : set_history(changes, slot, value);
  }
  if (!is_meant) {
    throw Error(Status::refused,
                fmt::format("'{}' stores no {} of '{}'", state.path, key.is_scale ? "scale" : "history", key.tensor),
                "its tensors are: " + known_tensors(slots));
  }
  return std::move(changes).take();
}

std::vector<NewField> reset_fp8(const FoundScaler& state, std::int64_t length) {
  rule_of(state);
  Changes changes;
  for (const Fp8Slot& slot : fp8_slots(state)) {
    set_scale(changes, slot, 1);
    if (length == 0) set_history(changes, slot, 0);
  }
  std::vector<NewField> fields = std::move(changes).take();
  if (length == 0) return fields;
  for (NewField& field : resized_fp8(state, length)) {
    if (auto* anew = std::get_if<NewTensor>(&field.data)) {
      std::fill(anew->elements.begin(), anew->elements.end(), std::byte{0});
      auto& array = std::get<PackedArray>(field.after.data);
      array.bytes = std::make_shared<const Bytes>(anew->elements);
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

std::vector<NewField> recomputed_fp8(const FoundScaler& state) {
  const ScaleRule& rule = rule_of(state);
  const float margin = two_to_margin(state);
  Changes changes;
  for (const Fp8Slot& slot : fp8_slots(state)) {
    const float amax = chosen_amax(state, slot);
    if (!(amax > 0) || !std::isfinite(amax)) continue;
    const auto stored = static_cast<float>(stored_scale(slot.meaning, slot.multiplier()));
    const float next = rule.next(stored, amax, static_cast<float>(slot.format_max), margin);
    set_scale(changes, slot, stored_scale(slot.meaning, next));
  }
  return std::move(changes).take();
}

std::vector<NewField> resized_fp8(const FoundScaler& state, std::int64_t length) {
  std::vector<NewField> fields;
  for (const Field& field : state.fields) {
    if (field.name == "recipe.amax_history_len") {
      fields.push_back({field.name, {Integer{length, {}}, "int"}, Integer{length, {}}});
    }
    const auto* array = std::get_if<PackedArray>(&field.value.data);
    if (array == nullptr || array->shape.size() != 2 || !field.name.starts_with("amax_history_")) continue;
    NewTensor anew{{length, array->shape[1]}, *array->bytes};
    anew.elements.resize(static_cast<std::size_t>(length * array->shape[1]) * array->type.size);
    const PackedArray after{array->type, anew.shape, std::make_shared<const Bytes>(anew.elements)};
    const std::string type =
        fmt::format("{}[{},{}]", field.value.type.substr(0, field.value.type.find('[')), length, array->shape[1]);
    fields.push_back({field.name, {after, type}, std::move(anew)});
  }
  if (!fields.empty()) return fields;
  throw Error(Status::refused, fmt::format("'{}': has no history of rows to make longer or shorter", state.path),
              "only TransformerEngine's is resized");
}

std::vector<NewField> regrouped_fp8(const FoundScaler& state, TeRelease release) {
  constexpr TeRelease first_by_product{2, 3};
  const std::uint64_t products = static_cast<std::uint64_t>(extra_state_of(state).products);
  if (products == 1) {
    throw Error(Status::refused, fmt::format("'{}': has one matrix product, whose columns have one order", state.path),
                "choose the layers that are GroupedLinear with --layer");
  }
  Changes changes;
  for (const Field& field : state.fields) {
    const auto* array = std::get_if<PackedArray>(&field.value.data);
    if (array == nullptr || array->shape.empty()) continue;
    const auto width = static_cast<std::uint64_t>(array->shape.back());
    const std::uint64_t roles = width / products;
    for (std::uint64_t index = 0; index < array->count(); ++index) {
      const std::uint64_t column = index % width;
      const std::uint64_t by_product = column % roles * products + column / roles;  // where the old order has it
      const std::uint64_t by_role = column % products * roles + column / products;  // where the new one has it
      const std::uint64_t from = release >= first_by_product ? by_product : by_role;
      changes.set(field, index, array->number_at(index - column + from));
    }
  }
  return std::move(changes).take();
}

}  // namespace tare
