#include "lib/codec/json.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/codec/json_size.hpp"
#include "lib/codec/json_text.hpp"
#include "lib/codec/schema.hpp"

namespace tare {
namespace {

using json::Array;
using json::Json;
using json::Object;

constexpr std::string_view lerobot_names[] = {"scale", "growth_factor", "backoff_factor", "growth_interval",
                                              "_growth_tracker"};

// ---- out

Json json_of(const StateValue& value);

struct ToJson {
  Json operator()(std::monostate) const { return {}; }
  Json operator()(const OpaqueJson& opaque) const { return json::parse(opaque.text, "a kept value", Status::internal); }
  Json operator()(const StateArray& array) const { return json::Numbers(std::shared_ptr<void>(), &array); }
  template <class Plain>
  Json operator()(const Plain& value) const {
    return value;
  }
};

/// Arrays stay those of `value`.
Json json_of(const StateValue& value) {
  return std::visit(ToJson{}, value);
}

Json json_of(const StateSection& section) {
  Object object;
  for (const auto& [name, value] : section) object.emplace_back(name, json_of(value));
  return object;
}

std::string lerobot_text(const ScalerState& state) {
  if (state.policy != "torch") {
    throw Error(Status::mismatch,
                "lerobot's file holds a torch scaler's state, this one is of policy \"" + state.policy + "\"",
                "Write tare's own shape, or translate the state first.");
  }
  Object object;
  for (const std::string_view name : lerobot_names) object.emplace_back(name, json_of(get(state, name)));
  return json::text_of(std::move(object));
}

// ---- in

/// Nothing for what is no list, or none of one kind.
std::optional<StateArray> array_in(const Json& json);

/// Items that are all of one kind.
template <class Item>
std::optional<StateArray> flat_array(const Array& items) {
  std::vector<Item> values;
  values.reserve(items.size());
  for (const Json& item : items) {
    const auto* value = item.as<Item>();
    if (value == nullptr) return std::nullopt;
    values.push_back(*value);
  }
  return StateArray{{items.size()}, std::move(values)};
}

/// nan and the infinities, as JSON has to write them.
std::optional<double> not_finite(const std::string& text) {
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::optional<double> number_of(const Json& item) {
  if (const auto* real = item.as<double>()) return *real;
  if (const auto* integer = item.as<std::int64_t>()) return static_cast<double>(*integer);
  const auto* text = item.as<std::string>();
  return text == nullptr ? std::nullopt : not_finite(*text);
}

/// Ints and floats together are floats, and so are nan and infinities among them.
std::optional<StateArray> number_array(const Array& items) {
  const auto is_text = [](const Json& item) { return item.as<std::string>() != nullptr; };
  if (std::ranges::all_of(items, is_text)) return std::nullopt;
  std::vector<double> values;
  values.reserve(items.size());
  for (const Json& item : items) {
    const std::optional<double> number = number_of(item);
    if (!number) return std::nullopt;
    values.push_back(*number);
  }
  return StateArray{{items.size()}, std::move(values)};
}

/// [[1, 2], [0.5, 3], ["nan", "nan"]]: the ints of one row, and nan, are floats beside those of another.
void match_numbers(StateArray& a, StateArray& b) {
  const auto widen = [](StateArray& from, const StateArray& like) {
    if (!std::holds_alternative<std::vector<double>>(like.values)) return;
    if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&from.values)) {
      from.values = std::vector<double>(integers->begin(), integers->end());
    } else if (const auto* texts = std::get_if<std::vector<std::string>>(&from.values)) {
      std::vector<double> numbers;
      for (const std::string& text : *texts) {
        const std::optional<double> number = not_finite(text);
        if (!number) return;
        numbers.push_back(*number);
      }
      from.values = std::move(numbers);
    }
  };
  widen(a, b);
  widen(b, a);
}

/// Rows of one shape and kind, one after the other; nothing if they differ.
std::optional<StateArray> stacked_array(const Array& rows) {
  std::optional<StateArray> whole;
  for (const Json& row : rows) {
    auto next = array_in(row);
    if (!next) return std::nullopt;
    if (!whole) {
      whole = std::move(next);
      continue;
    }
    match_numbers(*whole, *next);
    if (whole->shape != next->shape || whole->values.index() != next->values.index()) return std::nullopt;
    std::visit(
        [&](auto& list) {
          const auto& more = std::get<std::decay_t<decltype(list)>>(next->values);
          list.insert(list.end(), more.begin(), more.end());
        },
        whole->values);
  }
  whole->shape.insert(whole->shape.begin(), rows.size());
  return whole;
}

std::optional<StateArray> array_of(const Array& items) {
  if (auto integers = flat_array<std::int64_t>(items)) return integers;
  const bool is_nested = items.front().as<Array>() != nullptr || items.front().as<json::Numbers>() != nullptr;
  if (is_nested) return stacked_array(items);
  if (auto numbers = number_array(items)) return numbers;
  return flat_array<std::string>(items);
}

std::optional<StateArray> array_in(const Json& json) {
  if (const auto* numbers = json.as<json::Numbers>()) return **numbers;
  const auto* items = json.as<Array>();
  return items == nullptr ? std::nullopt : array_of(*items);
}

StateValue value_of(const Json& json) {
  if (json.as<std::monostate>() != nullptr) return std::monostate();
  if (const auto* flag = json.as<bool>()) return *flag;
  if (const auto* integer = json.as<std::int64_t>()) return *integer;
  if (const auto* real = json.as<double>()) return *real;
  if (const auto* text = json.as<std::string>()) return *text;
  if (auto array = array_in(json)) return *std::move(array);
  return OpaqueJson{json::text_of(json)};
}

StateSection section_of(const Object& root, const char* name, const std::string& file) {
  StateSection section;
  const Json* found = json::find(root, name);
  if (found == nullptr) return section;
  const auto* members = found->as<Object>();
  if (members == nullptr) throw Error(Status::corrupt, file + ": \"" + name + "\" is no object");
  for (const auto& [key, value] : *members) section.set(key, value_of(value));
  return section;
}

const std::string& text_at(const Object& root, const char* name, const std::string& file) {
  const Json* found = json::find(root, name);
  if (found == nullptr) {
    throw Error(Status::corrupt, file + ": no \"" + name + "\"", "A state needs \"policy\" and \"fields\".");
  }
  const auto* text = found->as<std::string>();
  if (text == nullptr) throw Error(Status::corrupt, file + ": \"" + name + "\" is no text");
  return *text;
}

bool is_lerobot(const Object& root) {
  return json::find(root, "policy") == nullptr && json::find(root, "fields") == nullptr &&
         std::ranges::all_of(lerobot_names, [&](std::string_view name) { return json::find(root, name) != nullptr; });
}

ScalerState from_lerobot(const Object& root) {
  ScalerState state;
  state.policy = "torch";
  for (const auto& [name, value] : root) state.fields.set(name, value_of(value));
  normalise(state);
  return state;
}

/// Borrows the arrays of both.
Object object_of(const ScalerState& state, const StateSection& roles) {
  Object root;
  root.emplace_back("schema", state_schema);
  root.emplace_back("policy", state.policy);
  root.emplace_back("params", json_of(state.params));
  root.emplace_back("fields", json_of(state.fields));
  root.emplace_back("roles", json_of(roles));
  root.emplace_back("roles_crc32", roles_checksum(roles));
  root.emplace_back("statistics", json_of(state.statistics));
  for (const auto& [name, value] : state.other) {
    if (json::find(root, name) == nullptr) root.emplace_back(name, json_of(value));
  }
  return root;
}

}  // namespace

std::string state_to_json(const ScalerState& state, JsonShape shape) {
  require_room_in_json(state);
  if (shape == JsonShape::lerobot) return lerobot_text(state);
  const StateSection roles = roles_of(state);
  std::string text = json::text_of(object_of(state, roles), most_bytes_in_json(state));
  require_room_in_json(text.size());
  return text;
}

StateSection members_of_json(std::string_view text, const std::string& what) {
  const Json json = json::parse(text, what, Status::invalid_argument);
  const auto* object = json.as<Object>();
  if (object == nullptr) throw Error(Status::invalid_argument, what + ": not a JSON object");
  StateSection members;
  for (const auto& [key, value] : *object) members.set(key, value_of(value));
  return members;
}

std::string value_to_json(const StateValue& value) {
  std::string text = json::text_of(json_of(value));
  text.pop_back();  // the newline of a whole document
  return text;
}

std::string states_to_json(std::span<const NamedState> states) {
  std::size_t room = 0;
  for (const NamedState& named : states) {
    require_room_in_json(named.state);
    room += most_bytes_in_json(named.state);
  }
  const json::MadeList list{
      "states", [&](const std::function<void(const Json&)>& add) {
        for (const NamedState& named : states) {
          const StateSection roles = roles_of(named.state);
          add(json::Members().add("path", named.path).add("state", object_of(named.state, roles)).take());
        }
      }};
  const Object front = json::Members().add("schema", states_schema).take();
  std::string text = json::gathered([&](const json::TextSink& sink) { json::write_text(front, list, {}, sink); }, room);
  require_room_in_json(text.size());
  return text;
}

namespace {

bool has_checksum_of(const Object& root, const StateSection& roles) {
  const Json* checksum = json::find(root, "roles_crc32");
  const auto* text = checksum == nullptr ? nullptr : checksum->as<std::string>();
  return text != nullptr && *text == roles_checksum(roles);
}

ScalerState state_of(const Json& json, const std::string& name) {
  const auto* root = json.as<Object>();
  if (root == nullptr) throw Error(Status::corrupt, name + ": not a JSON object");
  if (is_lerobot(*root)) return from_lerobot(*root);
  if (json::find(*root, "schema") != nullptr) require_readable_schema(text_at(*root, "schema", name), name);
  if (json::find(*root, "fields") == nullptr) text_at(*root, "fields", name);
  ScalerState state;
  state.policy = text_at(*root, "policy", name);
  state.params = section_of(*root, "params", name);
  state.fields = section_of(*root, "fields", name);
  state.statistics = section_of(*root, "statistics", name);
  constexpr std::string_view own[] = {"schema", "policy", "params", "fields", "roles", "roles_crc32", "statistics"};
  for (const auto& [key, value] : *root) {
    if (std::ranges::find(own, key) == std::end(own)) state.other.set(key, value_of(value));
  }
  normalise(state);
  const StateSection told = section_of(*root, "roles", name);
  has_checksum_of(*root, told) ? take_missing_roles(state, told) : take_roles(state, told);
  return state;
}

/// Of a document that holds a list of states.
const Array* list_of(const Json& json, const std::string& name) {
  const auto* root = json.as<Object>();
  const Json* schema = root == nullptr ? nullptr : json::find(*root, "schema");
  const auto* text = schema == nullptr ? nullptr : schema->as<std::string>();
  if (text == nullptr || *text != states_schema) return nullptr;
  const Json* states = json::find(*root, "states");
  const auto* list = states == nullptr ? nullptr : states->as<Array>();
  if (list == nullptr) throw Error(Status::corrupt, name + ": no list of \"states\"");
  return list;
}

NamedState named_state_of(const Json& json, const std::string& name) {
  const auto* item = json.as<Object>();
  const Json* state = item == nullptr ? nullptr : json::find(*item, "state");
  if (state == nullptr) throw Error(Status::corrupt, name + ": an item of \"states\" has no \"state\"");
  const std::string& path = text_at(*item, "path", name);
  return {path, state_of(*state, name + ": the state of '" + path + "'")};
}

}  // namespace

ScalerState state_from_json(std::string_view text, const std::string& name) {
  return state_of(json::parse(text, name, Status::corrupt), name);
}

std::vector<NamedState> states_from_json(std::string_view text, const std::string& name) {
  const Json json = json::parse(text, name, Status::corrupt);
  const Array* list = list_of(json, name);
  std::vector<NamedState> states;
  if (list == nullptr) {
    states.push_back({{}, state_of(json, name)});
  } else {
    for (const Json& item : *list) states.push_back(named_state_of(item, name));
  }
  return states;
}

}  // namespace tare
