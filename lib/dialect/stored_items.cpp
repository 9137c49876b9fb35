#include "lib/dialect/stored_items.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "lib/base/keyed_hash.hpp"
#include "lib/dialect/found.hpp"
#include "lib/dialect/trainer.hpp"
#include "lib/tree/path.hpp"

namespace tare {
namespace {

/// A scaler's tensors have one element: whatever is larger than the wrapping of one is no field.
constexpr std::uint64_t largest_field = std::uint64_t{64} << 10;
constexpr std::uint64_t largest_object = std::uint64_t{64} << 20;
/// As in find.cpp: what has more keys is no scaler.
constexpr std::size_t most_fields = 64;
/// Of the keys at the root, for a description.
constexpr std::size_t most_described = 6;

/// Objects with such a part in their key are stored for every parameter, or rank, and are something else.
constexpr auto other_parts = std::to_array<std::string_view>({
    "param_groups",  // torch's optimizers: lr, betas ...
    "dataloader",    // torchtitan's, one of each data-parallel rank
});

/// FP8 state: one small tensor, or object, a module.
constexpr std::uint64_t largest_fp8_state = std::uint64_t{4} << 20;

bool is_something_else(std::string_view key) {
  const auto is_part = [&](std::string_view part) { return has_part(key, part); };
  const auto is_trainers = [&](const Trainer* trainer) {
    return std::ranges::any_of(trainer->distributed.other_items,
                               [&](std::string_view beginning) { return key.starts_with(beginning); });
  };
  return std::ranges::any_of(other_parts, is_part) || std::ranges::any_of(trainers(), is_trainers);
}

struct SplitKey {
  std::string_view parent;
  std::string_view name;
};

SplitKey split(std::string_view key) {
  const std::size_t dot = key.substr(0, key.find('/')).rfind('.');  // dots behind a slash are of a shard's place
  if (dot == key.npos) return {{}, key};
  return {key.substr(0, dot), key.substr(dot + 1)};
}

/// The native names that some dialect cannot do without.
const std::unordered_set<std::string_view, KeyedHash>& required_names() {
  static const auto names = [] {
    std::unordered_set<std::string_view, KeyedHash> all;
    for (const Dialect* dialect : dialects()) {
      for (const FieldRule& rule : dialect->fields) {
        if (rule.required) all.insert(rule.name);
      }
    }
    return all;
  }();
  return names;
}

using Names = std::unordered_set<std::string_view, KeyedHash>;

/// Has it all that some dialect of such a form cannot do without?
template <class IsForm>
bool has_all_of_a_dialect(const Names& names, const IsForm& is_form) {
  return std::any_of(dialects().begin(), dialects().end(), [&](const Dialect* dialect) {
    const auto is_there = [&](const FieldRule& rule) { return !rule.required || names.contains(rule.name); };
    return dialect->find_in == nullptr && is_form(dialect->form) &&
           std::all_of(dialect->fields.begin(), dialect->fields.end(), is_there);
  });
}

/// The native names of states whose fields stand among other keys.
const Names& part_names() {
  static const auto names = [] {
    Names all;
    for (const Dialect* dialect : dialects()) {
      if (dialect->form != Form::part) continue;
      for (const FieldRule& rule : dialect->fields) all.insert(rule.name);
    }
    return all;
  }();
  return names;
}

/// What may be a state, with what stands beside its fields.
struct Group {
  bool is_whole = false;  ///< all that is in it belongs to the state
  bool is_part = false;   ///< fields among other things
  std::size_t items = 0;

  [[nodiscard]] bool has_field(std::string_view name) const {
    return (is_whole && items <= most_fields) || (is_part && part_names().contains(name));
  }
};

bool is_fp8_state(std::string_view key) {
  return std::ranges::any_of(
      dialects(), [&](const Dialect* dialect) { return dialect->fp8.is_item != nullptr && dialect->fp8.is_item(key); });
}

}  // namespace

std::vector<bool> possible_state(std::span<const StoredItem> items) {
  std::unordered_map<std::string_view, Names, KeyedHash> seen;  // by parent
  for (const StoredItem& item : items) {
    const SplitKey key = split(item.key);
    if (item.size <= largest_field && required_names().contains(key.name)) seen[key.parent].insert(key.name);
  }
  std::unordered_map<std::string_view, Group, KeyedHash> groups;  // by parent
  for (const auto& [parent, names] : seen) {
    const Group group{has_all_of_a_dialect(names, [](Form form) { return form != Form::part; }),
                      has_all_of_a_dialect(names, [](Form form) { return form == Form::part; })};
    if (group.is_whole || group.is_part) groups.try_emplace(parent, group);
  }
  const auto group_of = [&](const StoredItem& item) {
    const auto found = groups.empty() ? groups.end() : groups.find(split(item.key).parent);
    return found == groups.end() ? nullptr : &found->second;
  };
  for (const StoredItem& item : items) {
    if (Group* group = group_of(item)) ++group->items;
  }
  std::vector<bool> flags;
  flags.reserve(items.size());
  for (const StoredItem& item : items) {
    const Group* group = group_of(item);
    const bool is_field = group != nullptr && item.size <= largest_field && group->has_field(split(item.key).name);
    const bool is_object = !item.is_tensor && item.size <= largest_object && !is_something_else(item.key);
    const bool is_fp8 = item.size <= largest_fp8_state && is_fp8_state(item.key);
    flags.push_back(is_field || is_object || is_fp8);
  }
  return flags;
}

std::string describe_items(std::span<const StoredItem> items) {
  std::vector<std::string_view> keys;
  std::size_t tensors = 0;
  std::size_t objects = 0;
  bool has_more = false;
  std::string_view last_key;
  for (const StoredItem& item : items) {
    if (!item.is_tensor) ++objects;
    if (item.is_tensor && item.key != last_key) ++tensors;
    last_key = item.key;
    const std::string_view top = item.key.substr(0, item.key.find_first_of("./"));
    if (std::find(keys.begin(), keys.end(), top) != keys.end()) continue;
    has_more = keys.size() == most_described;
    if (!has_more) keys.push_back(top);
  }
  return fmt::format("{} tensor{} and {} object{} under {}{}", tensors, tensors == 1 ? "" : "s", objects,
                     objects == 1 ? "" : "s", fmt::join(keys, ", "), has_more ? " ..." : "");
}

}  // namespace tare
