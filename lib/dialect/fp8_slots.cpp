#include "lib/dialect/fp8_slots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "lib/base/glob.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/dialect/msamp_types.hpp"
#include "lib/dialect/tare_fp8.hpp"
#include "lib/tree/path.hpp"

namespace tare {
namespace {

std::uint64_t count_of(const Field& field) {
  if (const auto* array = std::get_if<PackedArray>(&field.value.data)) {
    return array->has_numbers() ? array->count() : 0;
  }
  return field.value.number() == nullptr ? 0 : 1;
}

/// As a whole.
bool is_called(const FoundScaler& scaler, std::string_view pattern) {
  return glob_matches(pattern, scaler.path) || glob_matches(pattern, layer_name(scaler)) ||
         (scaler.in_file && glob_matches(pattern, layer_name(std::string_view(scaler.path))));
}

/// Of a set of tare's own.
bool is_of(const Fp8Slot& slot, std::string_view pattern) {
  const std::string_view role = slot.role;
  return glob_matches(pattern, role.substr(0, std::min(role.rfind('/'), role.size())));
}

/// The elements of a field as numbers, quick where they are float32: histories have millions.
class Numbers {
 public:
  explicit Numbers(const Field& field)
      : array_(std::get_if<PackedArray>(&field.value.data)),
        one_(array_ == nullptr ? field.value.as_double() : 0),
        floats_(array_ != nullptr && array_->type.name == "float32" ? array_->bytes().data() : nullptr) {}

  [[nodiscard]] double operator[](std::uint64_t index) const {
    if (floats_ != nullptr) return load_le<float>(floats_ + index * sizeof(float));
    return array_ == nullptr ? one_ : array_->number_at(index);
  }

  /// The elements where they are float32, else null.
  [[nodiscard]] const std::byte* floats() const { return floats_; }

 private:
  const PackedArray* array_;
  double one_;
  const std::byte* floats_;
};

const Field* numeric(const FoundScaler& scaler, std::string_view name) {
  const Field* field = name.empty() ? nullptr : scaler.find(name);
  return field == nullptr || count_of(*field) == 0 ? nullptr : field;
}

/// Scales, of which some types are powers of two.
class Scales {
 public:
  explicit Scales(const Field& field) : numbers_(field), type_(scale_type(field)) {
    is_code_ = type_.name == e8m0 && element_type_of(field.value).name != e8m0;
  }

  [[nodiscard]] double operator[](std::uint64_t index) const {
    if (!is_code_) return numbers_[index];
    const auto code = static_cast<std::byte>(numbers_[index]);
    return element_value(type_, &code).as_double();
  }

 private:
  static constexpr std::string_view e8m0 = "float8_e8m0fnu";

  Numbers numbers_;
  ElementType type_;
  bool is_code_ = false;
};

/// How many matrix products the columns are of; nothing where they do not come out even.
std::optional<std::uint64_t> products(const FoundScaler& scaler, const Fp8Convention& convention) {
  std::optional<std::uint64_t> products;
  for (const Fp8Rule& rule : convention.rules) {
    const Field* scale = numeric(scaler, rule.scale);
    if (scale == nullptr || rule.stride == 0) continue;
    const std::uint64_t count = count_of(*scale);
    if (count % rule.stride != 0 || products.value_or(count / rule.stride) != count / rule.stride) return std::nullopt;
    products = count / rule.stride;
  }
  return products.value_or(1);
}

/// As a number, or as the name of a type.
double format_max(const FoundScaler& scaler, const Fp8Rule& rule) {
  const Field* named = rule.max_field.empty() ? nullptr : scaler.find(rule.max_field);
  const auto* type = named == nullptr ? nullptr : std::get_if<std::string>(&named->value.data);
  if (type != nullptr) return msamp_largest(*type).value_or(rule.format_max);
  const Field* field = numeric(scaler, rule.max_field);
  const double stored = field == nullptr ? 0 : Numbers(*field)[0];
  if (stored > 0) return stored;
  const auto told = scaler.dialect->fp8.format_max;
  return (told == nullptr ? std::nullopt : told(scaler, rule)).value_or(rule.format_max);
}

/// Whether an array has rows of so many columns; one of a single dimension may.
bool has_columns(const Field& field, std::uint64_t width) {
  const auto* array = std::get_if<PackedArray>(&field.value.data);
  if (array == nullptr || array->shape().size() < 2) return count_of(field) % width == 0;
  return static_cast<std::uint64_t>(array->shape().back()) == width;
}

/// Of layers that flax's nn.scan stacks a history holds a row for each, and the scale an element. 1 of all others.
std::uint64_t stacked_layers(const Fp8Slot& slot) {
  const auto* array = slot.history == nullptr ? nullptr : std::get_if<PackedArray>(&slot.history->value.data);
  if (array == nullptr || array->shape().size() < 2 || slot.columns != 0) return 1;
  const std::uint64_t rows = array->count() / static_cast<std::uint64_t>(array->shape().back());
  return rows == slot.scale_count() ? rows : 1;
}

/// One slot for each of the layers that are stacked in it.
void add_layers(Fp8Slot slot, std::vector<Fp8Slot>& slots) {
  const std::uint64_t layers = stacked_layers(slot);
  if (layers == 1) return slots.push_back(std::move(slot));
  const std::string role = slot.role;
  slot.columns = slot.rows = layers;
  for (std::uint64_t layer = 0; layer < layers; ++layer) {
    slot.role = fmt::format("{}.{}", role, layer);
    slot.column = slot.row = layer;
    slots.push_back(slot);
  }
}

/// What a scale's columns do not say which element is whose: a history whose rows have others, inverses of other
/// scales.
void drop_what_does_not_fit(Fp8Slot& slot) {
  if (slot.history != nullptr && slot.columns != 0 && !has_columns(*slot.history, slot.columns)) slot.history = nullptr;
  if (slot.scale_inv != nullptr && count_of(*slot.scale_inv) != count_of(*slot.scale)) slot.scale_inv = nullptr;
}

/// A history whose index leads out of it has no newest entry.
void begin_at(Fp8Slot& slot, const Field* index) {
  if (slot.history == nullptr || index == nullptr) return;
  const double entry = Numbers(*index)[0];
  const bool is_inside = entry >= 0 && entry < static_cast<double>(slot.history_length());
  if (!is_inside) slot.history = nullptr;
  if (is_inside) slot.begin = static_cast<std::uint64_t>(entry);
}

void add_slots(const FoundScaler& scaler, const Fp8Convention& convention, const Fp8Rule& rule, std::uint64_t products,
               std::vector<Fp8Slot>& slots) {
  const Field* scale = numeric(scaler, rule.scale);
  if (scale == nullptr) return;
  const auto has_columns_by_tensor = scaler.dialect->fp8.has_columns_by_tensor;
  const bool by_tensor = has_columns_by_tensor != nullptr && has_columns_by_tensor(scaler);
  for (std::uint64_t product = 0; product < (rule.stride == 0 ? 1 : products); ++product) {
    Fp8Slot slot;
    slot.role = products == 1 ? std::string(rule.role) : fmt::format("{}.{}", rule.role, product);
    slot.scale = scale;
    slot.scale_inv = numeric(scaler, rule.scale_inv);
    slot.history = numeric(scaler, rule.history);
    slot.newest = slot.history == nullptr ? nullptr : numeric(scaler, rule.newest);
    slot.columns = rule.stride == 0 ? 0 : products * rule.stride;
    slot.column = by_tensor ? rule.column * products + product : product * rule.stride + rule.column;
    slot.format_max = format_max(scaler, rule);
    slot.order = convention.order;
    slot.meaning = rule.meaning.value_or(convention.meaning);
    slot.use = rule.use.value_or(convention.use);
    drop_what_does_not_fit(slot);
    begin_at(slot, numeric(scaler, rule.index));
    add_layers(std::move(slot), slots);
  }
}

void take_scales(Fp8Summary& summary, const Fp8Slot& slot) {
  const Scales scales(*slot.scale);
  summary.scale_count = slot.scale_count();
  summary.scale_min = summary.scale_max = stored_scale(slot.meaning, scales[slot.scale_index(0)]);
  bool is_first = true;
  for (std::uint64_t i = 0; i < summary.scale_count; ++i) {
    const double scale = stored_scale(slot.meaning, scales[slot.scale_index(i)]);
    if (!std::isfinite(scale)) {
      ++summary.scales_not_finite;
    } else if (scale == 0) {
      ++summary.scales_zero;
    } else if (scale < 0) {
      ++summary.scales_negative;
    } else {
      summary.scale_min = is_first ? scale : std::min(summary.scale_min, scale);
      summary.scale_max = is_first ? scale : std::max(summary.scale_max, scale);
      is_first = false;
    }
  }
  summary.not_finite = summary.scales_not_finite;
}

/// Counts a history of summary.length entries in the type that `amax_of` reads.
template <typename AmaxOf>
void take_history(Fp8Summary& summary, AmaxOf amax_of) {
  decltype(amax_of(0)) max = 0;
  std::uint64_t filled = 0;
  std::uint64_t not_finite = 0;
  for (std::uint64_t entry = 0; entry < summary.length; ++entry) {
    const auto amax = amax_of(entry);
    const bool is_finite = std::isfinite(amax);
    filled += amax != 0 ? 1 : 0;
    not_finite += is_finite ? 0 : 1;
    if (is_finite && amax > max) max = amax;
  }
  summary.max = max;
  summary.filled = filled;
  summary.not_finite += not_finite;
}

/// One that stands beside the history. It starts as the format's largest number.
void take_newest(Fp8Summary& summary, double amax, double format_max) {
  if (summary.filled == 0 && amax == format_max) return;
  summary.newest = amax;
  if (!std::isfinite(amax)) ++summary.not_finite;
  if (std::isfinite(amax) && amax > summary.max) summary.max = amax;
}

}  // namespace

double stored_scale(ScaleMeaning meaning, double multiplier) {
  const bool has_inverse = std::isfinite(multiplier) && multiplier != 0;
  return meaning == ScaleMeaning::divisor && has_inverse ? 1 / multiplier : multiplier;
}

ElementType scale_type(const Field& field) {
  const ElementType type = element_type_of(field.value);
  return type.name == "uint8" ? element_type("float8_e8m0fnu") : type;
}

std::uint64_t Fp8Slot::scale_count() const {
  return columns == 0 ? count_of(*scale) : 1;
}

std::uint64_t Fp8Slot::history_length() const {
  if (history == nullptr) return 0;
  if (rows != 0) return count_of(*history) / rows;
  return columns == 0 ? count_of(*history) : count_of(*history) / columns;
}

std::uint64_t Fp8Slot::history_begin() const {
  if (rows != 0) return row * history_length();
  return columns == 0 ? 0 : column;
}

std::uint64_t Fp8Slot::entry_of_age(std::uint64_t age) const {
  const std::uint64_t length = history_length();
  return (begin + tare::entry_of_age(order, length, age)) % length;
}

double Fp8Slot::stored(std::uint64_t i) const {
  return Scales(*scale)[scale_index(i)];
}

double Fp8Slot::multiplier(std::uint64_t i) const {
  return stored_scale(meaning, stored(i));
}

double Fp8Slot::stored_amax(std::uint64_t entry) const {
  return Numbers(*history)[history_index(entry)];
}

double Fp8Slot::newest_amax() const {
  return Numbers(*newest)[0];
}

std::vector<double> Fp8Slot::history_by_age() const {
  if (history == nullptr) return {};
  const Numbers numbers(*history);
  std::vector<double> amaxes(finished_entries(order, history_length()));
  for (std::uint64_t age = 0; age < amaxes.size(); ++age) {
    amaxes[age] = numbers[history_index(entry_of_age(age))];
  }
  if (newest != nullptr && !amaxes.empty()) {
    std::rotate(amaxes.begin(), amaxes.end() - 1, amaxes.end());
    amaxes.front() = newest_amax();
  }
  return amaxes;
}

std::vector<Fp8Slot> fp8_slots(const FoundScaler& scaler) {
  if (is_tare_fp8(scaler)) return tare_fp8_slots(scaler);
  std::vector<Fp8Slot> slots;
  for (const Fp8Convention& convention : scaler.dialect->fp8.conventions) {
    const auto count = products(scaler, convention);
    if (!count) continue;
    for (const Fp8Rule& rule : convention.rules) add_slots(scaler, convention, rule, *count, slots);
    if (!slots.empty()) break;
  }
  return slots;
}

std::string layer_name(const FoundScaler& scaler) {
  const std::string name = layer_name(std::string_view(scaler.path));
  return scaler.in_file ? fmt::format("{}:{}", *scaler.in_file, name) : name;
}

std::string layer_name(std::string_view path) {
  constexpr std::string_view key = "._extra_state";
  return std::string(path.ends_with(key) ? path.substr(0, path.size() - key.size()) : path);
}

std::string layer_of(const FoundScaler& scaler, const Fp8Slot& slot) {
  if (!is_tare_fp8(scaler)) return layer_name(scaler);
  const std::size_t slash = slot.role.rfind('/');
  return slash == slot.role.npos ? std::string() : slot.role.substr(0, slash);
}

std::string_view tensor_of(const FoundScaler& scaler, const Fp8Slot& slot) {
  const std::string_view role = slot.role;
  return is_tare_fp8(scaler) ? role.substr(role.rfind('/') + 1) : role;
}

bool is_layer(const FoundScaler& scaler, std::string_view pattern) {
  if (is_called(scaler, pattern)) return true;
  return is_tare_fp8(scaler) &&
         std::ranges::any_of(fp8_slots(scaler), [&](const Fp8Slot& slot) { return is_of(slot, pattern); });
}

std::vector<Fp8Slot> fp8_slots(const FoundScaler& scaler, const std::optional<std::string>& pattern) {
  std::vector<Fp8Slot> slots = fp8_slots(scaler);
  if (!pattern || is_called(scaler, *pattern)) return slots;
  std::erase_if(slots, [&](const Fp8Slot& slot) { return !is_tare_fp8(scaler) || !is_of(slot, *pattern); });
  return slots;
}

std::vector<std::string> layers_in(const FoundScaler& scaler) {
  if (!is_tare_fp8(scaler)) return {layer_name(scaler)};
  std::vector<std::string> layers;
  std::unordered_set<std::string, KeyedHash> known;
  for (const Fp8Slot& slot : fp8_slots(scaler)) {
    std::string layer = layer_of(scaler, slot);
    if (layer.empty()) layer = slot.role;
    if (known.insert(layer).second) layers.push_back(std::move(layer));
  }
  return layers;
}

const Field* recipe_field(const FoundScaler& state, std::string_view scale_field, std::string_view name) {
  const std::string_view direction = scale_field.ends_with("_bwd") ? "backward.recipe" : "forward.recipe";
  for (const std::string_view recipe : {std::string_view("recipe"), direction, std::string_view("params")}) {
    if (const Field* field = state.find(std::string_view(key_path(recipe, name)))) return field;
  }
  return nullptr;
}

std::string own_functions(const FoundScaler& state) {
  std::string list;
  for (const Field& field : state.fields) {
    const auto* name = std::get_if<std::string>(&field.value.data);
    if (field.value.type != fp8_function_type || name == nullptr) continue;
    list += fmt::format("{}{} = {}", list.empty() ? "" : ", ", field.name, *name);
  }
  return list;
}

Fp8Summary summary_of(const Fp8Slot& slot) {
  Fp8Summary summary;
  take_scales(summary, slot);
  summary.length = slot.history_length();
  if (summary.length == 0) return summary;
  const Numbers amaxes(*slot.history);
  const auto index = [begin = slot.history_begin(), stride = slot.history_stride()](std::uint64_t entry) {
    return begin + entry * stride;
  };
  if (const std::byte* floats = amaxes.floats()) {
    take_history(summary, [&](std::uint64_t entry) { return load_le<float>(floats + index(entry) * sizeof(float)); });
  } else {
    take_history(summary, [&](std::uint64_t entry) { return amaxes[index(entry)]; });
  }
  summary.newest = amaxes[slot.history_index(slot.entry_of_age(0))];
  if (slot.newest != nullptr) take_newest(summary, slot.newest_amax(), slot.format_max);
  const double largest = summary.max * summary.scale_max;
  if (largest > 0 && std::isfinite(largest)) summary.margin_bits = std::log2(slot.format_max / largest);
  return summary;
}

}  // namespace tare
