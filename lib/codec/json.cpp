#include "lib/codec/json.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/codec/json_text.hpp"
#include "lib/codec/schema.hpp"

namespace tare {
namespace {

using json::Json;

constexpr std::string_view lerobot_names[] = {"scale", "growth_factor", "backoff_factor", "growth_interval",
                                              "_growth_tracker"};

// ---- out

Json json_of(const StateValue& value);

/// Rows of `array` from dimension `axis` on; `at` walks over the values.
Json rows_of(const StateArray& array, std::size_t axis, std::size_t& at) {
  Json rows = Json::array();
  for (std::uint64_t i = 0; i < array.shape[axis]; ++i) {
    if (axis + 1 < array.shape.size()) {
      rows.push_back(rows_of(array, axis + 1, at));
    } else {
      std::visit([&](const auto& list) { rows.push_back(Json(list[at])); }, array.values);
      ++at;
    }
  }
  return rows;
}

struct ToJson {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(const OpaqueJson& opaque) const { return json::parse(opaque.text, "a kept value", Status::internal); }
  Json operator()(const StateArray& array) const {
    std::size_t at = 0;
    return rows_of(array, 0, at);
  }
  template <class Plain>
  Json operator()(const Plain& value) const {
    return Json(value);
  }
};

Json json_of(const StateValue& value) {
  return std::visit(ToJson{}, value);
}

Json json_of(const StateSection& section) {
  Json object = Json::object();
  for (const auto& [name, value] : section) object[name] = json_of(value);
  return object;
}

std::string lerobot_text(const ScalerState& state) {
  if (state.policy != "torch") {
    throw Error(Status::mismatch,
                "lerobot's file holds a torch scaler's state, this one is of policy \"" + state.policy + "\"",
                "Write tare's own shape, or translate the state first.");
  }
  Json object = Json::object();
  for (const std::string_view name : lerobot_names) object[std::string(name)] = json_of(get(state, name));
  return json::text_of(object);
}

// ---- in

std::optional<StateArray> array_of(const Json& json);

template <class Item, class Test>
std::optional<StateArray> flat_array(const Json& json, const Test& fits) {
  if (!std::ranges::all_of(json, fits)) return std::nullopt;
  std::vector<Item> items;
  items.reserve(json.size());
  for (const Json& item : json) items.push_back(item.get<Item>());
  return StateArray{{json.size()}, std::move(items)};
}

bool is_integer(const Json& json) {
  return json.is_number_integer() &&
         (!json.is_number_unsigned() ||
          json.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
}

/// [[1, 2], [0.5, 3]]: the ints of one row are floats beside those of another.
void match_numbers(StateArray& a, StateArray& b) {
  const auto widen = [](StateArray& from, const StateArray& like) {
    const auto* integers = std::get_if<std::vector<std::int64_t>>(&from.values);
    if (integers == nullptr || !std::holds_alternative<std::vector<double>>(like.values)) return;
    from.values = std::vector<double>(integers->begin(), integers->end());
  };
  widen(a, b);
  widen(b, a);
}

/// Rows of one shape and kind, one after the other; nothing if they differ.
std::optional<StateArray> stacked_array(const Json& json) {
  std::optional<StateArray> whole;
  for (const Json& row : json) {
    auto next = row.is_array() ? array_of(row) : std::nullopt;
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
  whole->shape.insert(whole->shape.begin(), json.size());
  return whole;
}

std::optional<StateArray> array_of(const Json& json) {
  if (json.empty() || std::ranges::all_of(json, is_integer)) {
    return flat_array<std::int64_t>(json, is_integer);
  }
  if (json.front().is_array()) return stacked_array(json);
  if (auto numbers = flat_array<double>(json, [](const Json& item) { return item.is_number(); })) return numbers;
  return flat_array<std::string>(json, [](const Json& item) { return item.is_string(); });
}

StateValue value_of(const Json& json) {
  if (json.is_null()) return std::monostate();
  if (json.is_boolean()) return json.get<bool>();
  if (is_integer(json)) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) {
    if (auto array = array_of(json)) return *std::move(array);
  }
  return OpaqueJson{json.dump()};
}

StateSection section_of(const Json& root, const char* name, const std::string& file) {
  StateSection section;
  const auto found = root.find(name);
  if (found == root.end()) return section;
  if (!found->is_object()) throw Error(Status::corrupt, file + ": \"" + name + "\" is no object");
  for (const auto& [key, value] : found->items()) section.set(key, value_of(value));
  return section;
}

const std::string& text_at(const Json& root, const char* name, const std::string& file) {
  const auto found = root.find(name);
  if (found == root.end())
    throw Error(Status::corrupt, file + ": no \"" + std::string(name) + "\"",
                "A state needs \"policy\" and \"fields\".");
  if (!found->is_string()) throw Error(Status::corrupt, file + ": \"" + std::string(name) + "\" is no text");
  return found->get_ref<const std::string&>();
}

bool is_lerobot(const Json& root) {
  return !root.contains("policy") && !root.contains("fields") &&
         std::ranges::all_of(lerobot_names, [&](std::string_view name) { return root.contains(std::string(name)); });
}

ScalerState from_lerobot(const Json& root) {
  ScalerState state;
  state.policy = "torch";
  for (const auto& [name, value] : root.items()) state.fields.set(name, value_of(value));
  normalise(state);
  return state;
}

}  // namespace

std::string state_to_json(const ScalerState& state, JsonShape shape) {
  if (shape == JsonShape::lerobot) return lerobot_text(state);
  Json root{{"schema", state_schema}, {"policy", state.policy}};
  root["params"] = json_of(state.params);
  root["fields"] = json_of(state.fields);
  root["roles"] = json_of(roles_of(state));
  root["statistics"] = json_of(state.statistics);
  for (const auto& [name, value] : state.other) {
    if (!root.contains(name)) root[name] = json_of(value);
  }
  std::string text = json::text_of(root);
  if (text.size() > limits::max_small_text_bytes) {
    throw Error(Status::unsupported, "the state is too big for JSON: " + std::to_string(text.size()) + " bytes",
                "Write it as HDF5 (.h5).");
  }
  return text;
}

StateSection members_of_json(std::string_view text, const std::string& what) {
  const Json object = json::parse(text, what, Status::invalid_argument);
  if (!object.is_object()) throw Error(Status::invalid_argument, what + ": not a JSON object");
  StateSection members;
  for (const auto& [key, value] : object.items()) members.set(key, value_of(value));
  return members;
}

std::string value_to_json(const StateValue& value) {
  std::string text = json::text_of(json_of(value));
  text.pop_back();  // the newline of a whole document
  return text;
}

ScalerState state_from_json(std::string_view text, const std::string& name) {
  const Json root = json::parse(text, name, Status::corrupt);
  if (!root.is_object()) throw Error(Status::corrupt, name + ": not a JSON object");
  if (is_lerobot(root)) return from_lerobot(root);
  if (root.contains("schema")) require_readable_schema(text_at(root, "schema", name), name);
  if (!root.contains("fields")) text_at(root, "fields", name);
  ScalerState state;
  state.policy = text_at(root, "policy", name);
  state.params = section_of(root, "params", name);
  state.fields = section_of(root, "fields", name);
  state.statistics = section_of(root, "statistics", name);
  for (const auto& [key, value] : root.items()) {
    const bool known = key == "schema" || key == "policy" || key == "params" || key == "fields" || key == "roles" ||
                       key == "statistics";
    if (!known) state.other.set(key, value_of(value));
  }
  normalise(state);
  take_roles(state, section_of(root, "roles", name));
  return state;
}

}  // namespace tare
