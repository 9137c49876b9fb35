#include "lib/dialect/tare_fp8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/dialect/frameworks/tare.hpp"
#include "lib/dialect/state_value.hpp"
#include "lib/state/fp8_policy.hpp"
#include "lib/state/fp8_set.hpp"

namespace tare {
namespace {

std::string full(std::string_view section, std::string_view name) {
  return fmt::format("{}.{}", section, name);
}

// ---- lists as arrays

/// JSON has no other way to write what is not finite.
std::optional<double> number_in(const Tree& tree, NodeId node) {
  if (tree.kind(node) == Kind::string) {
    const std::string_view text = tree.text(node);
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    return std::nullopt;
  }
  const Value value = tree.value(node, 1);
  return value.number() == nullptr ? std::nullopt : std::optional(value.as_double());
}

/// Numbers of a list, or of lists of one length.
class Packing {
 public:
  explicit Packing(const Tree& tree) : tree_(tree) {}

  /// Nothing where there is something else.
  std::optional<Value> pack(NodeId list) {
    if (!take(list)) return std::nullopt;
    const std::string type = fmt::format("list[{}]", fmt::join(shape_, ","));
    tree_.keep_memory(bytes_.size());
    return Value{PackedArray{element_type("float64"), shape_, std::move(bytes_)}, type};
  }

 private:
  bool take(NodeId list) {
    if (tree_.kind(list) != Kind::list || tree_.items(list).empty()) return false;
    const auto items = tree_.items(list);
    const bool has_rows = tree_.kind(items.front()) == Kind::list;
    shape_.push_back(static_cast<std::int64_t>(items.size()));
    if (!has_rows) return take_numbers(list);
    const auto length = static_cast<std::int64_t>(tree_.items(items.front()).size());
    shape_.push_back(length);
    return length > 0 && std::ranges::all_of(items, [&](NodeId row) {
             return tree_.kind(row) == Kind::list && std::ssize(tree_.items(row)) == length && take_numbers(row);
           });
  }

  bool take_numbers(NodeId list) {
    return std::ranges::all_of(tree_.items(list), [&](NodeId item) {
      const auto number = number_in(tree_, item);
      if (number) append_le(bytes_, *number);
      return number.has_value();
    });
  }

  const Tree& tree_;
  std::vector<std::int64_t> shape_;
  Bytes bytes_;
};

// ---- the framework whose rule the policy is

/// The framework's own FP8 state; null for rules that no framework's checkpoint holds the state of.
const Dialect* framework_of(std::string_view policy) {
  const auto found = std::ranges::find_if(dialects(), [&](const Dialect* d) { return d->fp8.policy == policy; });
  return found == dialects().end() ? nullptr : *found;
}

std::vector<Dialect> own_dialects() {
  std::vector<Dialect> own;
  for (const Fp8PolicySpec& spec : fp8_policies()) {
    const Dialect* framework = framework_of(spec.name);
    Dialect dialect;
    dialect.name = name_of_own;
    dialect.kind = "fp8";
    dialect.framework = "FP8 state of tare's own";
    dialect.is_whole_file = true;
    dialect.fp8.policy = spec.name;
    if (framework != nullptr) dialect.fp8.next_scale = framework->fp8.next_scale;
    own.push_back(dialect);
  }
  return own;
}

const Dialect& fp8_dialect_of(std::string_view policy) {
  static const std::vector<Dialect> all = own_dialects();
  return *std::ranges::find(all, policy, [](const Dialect& dialect) { return dialect.fp8.policy; });
}

// ---- slots

const Field* field_of(const FoundScaler& scaler, const Fp8PolicySpec& spec, std::initializer_list<Fp8Array> arrays) {
  for (const Fp8FieldSpec& field : spec.fields) {
    if (std::ranges::find(arrays, field.array) == arrays.end()) continue;
    if (const Field* found = scaler.find(std::string_view(full("fields", field.name)))) return found;
  }
  return nullptr;
}

/// Of a slot's format, by its name.
double largest_of(std::string_view format) {
  return fp8_largest(find_fp8_format(format).value_or(Dtype::f8_e4m3fn));
}

/// The i-th of a parameter that is one word for all, or a list of them; empty where it says nothing.
std::string word_of(const FoundScaler& scaler, std::string_view key, std::size_t i) {
  const Field* field = scaler.find(std::string_view(full("params", key)));
  if (field == nullptr) return {};
  if (const auto* text = std::get_if<std::string>(&field->value.data)) return *text;
  const auto* list = std::get_if<ValueList>(&field->value.data);
  if (list == nullptr || list->empty()) return {};
  const auto* text = std::get_if<std::string>(&(*list)[std::min(i, list->size() - 1)].data);
  return text == nullptr ? std::string() : *text;
}

// ---- finding

class OwnFp8Reader {
 public:
  OwnFp8Reader(const Tree& tree, NodeId map, const Fp8PolicySpec& spec) : tree_(tree), map_(map), spec_(spec) {}

  Match read() {
    match_.dialect = &fp8_dialect_of(spec_.name);
    NodeId policy = tree_.find(map_, own_policy_field);
    if (policy == nowhere) policy = tree_.find(map_, "@policy");  // HDF5's
    match_.parts.push_back({std::string(own_policy_field), policy});
    add_parameters();
    for (const Fp8FieldSpec& field : spec_.fields) add(field);
    return std::move(match_);
  }

 private:
  void add_parameters() {
    const auto pairs = tree_.items(tree_.find(map_, "params"));
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const std::string key = tree_.key_text(pairs[i]);
      if (key.starts_with('@')) continue;  // HDF5's attributes say what a value is
      const Fp8ParameterSpec* parameter = find_parameter(spec_, key);
      // As long as the rows are: what says so goes with them.
      if (parameter != nullptr && parameter->role == "history_length") continue;
      Match::Part part{full("params", key), pairs[i + 1]};
      if (tree_.kind(part.node) == Kind::list) part.value = std::make_shared<const Value>(words_in(part.node));
      match_.parts.push_back(std::move(part));
    }
  }

  [[nodiscard]] Value words_in(NodeId list) const {
    ValueList words;
    for (const NodeId item : tree_.items(list)) words.push_back(tree_.value(item, 1));
    tree_.keep_memory(words.size() * sizeof(Value));
    return {std::move(words), "list"};
  }

  void add(const Fp8FieldSpec& field) {
    const NodeId node = tree_.find(tree_.find(map_, "fields"), field.name);
    if (node == nowhere) {
      if (field.needed) match_.problem = fmt::format("FP8 state of tare's own without fields.{}", field.name);
      return;
    }
    Match::Part part{full("fields", field.name), node};
    if (tree_.kind(node) == Kind::tensor) {
      match_.parts.push_back(std::move(part));
      return;
    }
    auto packed = Packing(tree_).pack(node);
    if (!packed) {
      match_.problem = fmt::format("fields.{} holds no numbers, or rows of several lengths", field.name);
      return;
    }
    part.value = std::make_shared<const Value>(std::move(*packed));
    match_.parts.push_back(std::move(part));
  }

  const Tree& tree_;
  NodeId map_;
  const Fp8PolicySpec& spec_;
  Match match_;
};

StateValue array_of(const PackedArray& packed) {
  std::vector<double> numbers(packed.count());
  for (std::uint64_t i = 0; i < numbers.size(); ++i) numbers[i] = packed.number_at(i);
  return StateArray{std::vector<std::uint64_t>(packed.shape().begin(), packed.shape().end()), std::move(numbers)};
}

StateValue texts_of(const ValueList& list) {
  std::vector<std::string> texts;
  for (const Value& value : list) {
    const auto* text = std::get_if<std::string>(&value.data);
    if (text != nullptr) texts.push_back(*text);
  }
  const std::uint64_t count = texts.size();
  return StateArray{{count}, std::move(texts)};
}

}  // namespace

Match tare_fp8_match(const Tree& tree, NodeId map, std::string_view policy) {
  return OwnFp8Reader(tree, map, *find_fp8_policy(policy)).read();
}

bool is_tare_fp8(const FoundScaler& scaler) {
  return scaler.dialect->kind == "fp8" && scaler.dialect->name == name_of_own;
}

std::vector<Fp8Slot> tare_fp8_slots(const FoundScaler& scaler) {
  const Fp8PolicySpec& spec = *find_fp8_policy(scaler.dialect->fp8.policy);
  const Field* scale = field_of(scaler, spec, {Fp8Array::scale, Fp8Array::mu});
  const Field* history = field_of(scaler, spec, {Fp8Array::history});
  const auto* scales = scale == nullptr ? nullptr : std::get_if<PackedArray>(&scale->value.data);
  if (scales == nullptr) return {};
  const Dialect* framework = framework_of(spec.name);
  const Fp8Convention convention = framework == nullptr ? Fp8Convention{} : framework->fp8.conventions.front();
  std::vector<Fp8Slot> slots(scales->count());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Fp8Slot& slot = slots[i];
    const std::string name = word_of(scaler, fp8_slots_key, i);
    slot.role = name.empty() ? fmt::to_string(i) : name;
    slot.scale = scale;
    slot.history = history;
    slot.column = slot.row = i;
    slot.columns = slot.rows = slots.size();
    slot.format_max = largest_of(word_of(scaler, fp8_format_key, i));
    slot.order = convention.order;
    slot.meaning = convention.meaning;
  }
  return slots;
}

ScalerState tare_fp8_state(const FoundScaler& scaler) {
  ScalerState state;
  state.policy = scaler.dialect->fp8.policy;
  for (const Field& field : scaler.fields) {
    const std::size_t dot = field.name.find('.');
    if (dot == field.name.npos) continue;
    StateSection& section = field.name.starts_with("params.") ? state.params : state.fields;
    const std::string key = field.name.substr(dot + 1);
    if (const auto* packed = std::get_if<PackedArray>(&field.value.data)) {
      section.set(key, array_of(*packed));
    } else if (const auto* list = std::get_if<ValueList>(&field.value.data)) {
      section.set(key, texts_of(*list));
    } else {
      section.set(key, state_value(field.value));
    }
  }
  return to_state(start_fp8_from(state));
}

ScalerState tare_fp8_state(const FoundScaler& scaler, const std::vector<Fp8Slot>& slots) {
  std::vector<std::size_t> rows;
  for (const Fp8Slot& slot : slots) rows.push_back(slot.row);
  return to_state(some_of(start_fp8_from(tare_fp8_state(scaler)), rows));
}

}  // namespace tare
