#include "lib/migrate/fp8_into.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/base/text.hpp"
#include "lib/checkpoint/choose.hpp"
#include "lib/checkpoint/plain_states.hpp"
#include "lib/edit/fp8_keys.hpp"
#include "lib/state/fp8_convert.hpp"
#include "lib/state/fp8_set.hpp"

namespace tare {
namespace {

constexpr std::string_view slots_key = "params.slots", format_key = "params.format";

using Names = std::vector<std::string>;

/// "a/input", "a/input and 3 others"; quoted, since they are a file's.
std::string few(const Names& names) {
  if (names.empty()) return "none";
  const std::string first = escaped(names.front());
  return names.size() == 1 ? first : fmt::format("{} and {} others", first, names.size() - 1);
}

/// Of two that became one the second would be lost unseen.
void require_each_once(Names names) {
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice == names.end()) return;
  throw Error(Status::refused, fmt::format("two tensors of the state become '{}'", *twice),
              "give --module more of the paths, so that they stay apart");
}

/// The source's slots under the names of the checkpoint's layers.
ScalerState renamed_source(const ScalerState& source, const std::vector<ModuleName>& modules) {
  Fp8Set set = start_fp8_from(source);
  if (set.names.empty()) {
    throw Error(Status::refused, "the state's slots have no names, by which they would find their layers",
                "name them: \"slots\" is a list of LAYER/TENSOR");
  }
  for (std::string& name : set.names) {
    const std::size_t slash = std::min(name.rfind('/'), name.size());
    std::string layer = name.substr(0, slash);
    for (const ModuleName& module : modules) layer = renamed(std::move(layer), module.from, module.to);
    name = layer + name.substr(slash);
  }
  require_each_once(set.names);
  return to_state(set);
}

/// Which slots of the two go together.
struct Meeting {
  Names taken, stay, left;  ///< in both; the checkpoint's alone; the source's alone
  Names of_other_format;    ///< of those in both
};

Meeting meeting_of(const Fp8Set& source, const Fp8Set& there) {
  std::unordered_map<std::string_view, std::size_t, KeyedHash> by_name;
  for (std::size_t i = 0; i < source.names.size(); ++i) by_name.emplace(source.names[i], i);
  Meeting meeting;
  for (std::size_t i = 0; i < there.names.size(); ++i) {
    const std::string& name = there.names[i];
    const auto known = by_name.find(name);
    if (known == by_name.end()) {
      meeting.stay.push_back(name);
      continue;
    }
    meeting.taken.push_back(name);
    if (source.formats[known->second] != there.formats[i]) meeting.of_other_format.push_back(name);
    by_name.erase(known);
  }
  for (const std::string& name : source.names) {
    if (by_name.contains(name)) meeting.left.push_back(name);
  }
  return meeting;
}

ConvertedValue told(Outcome outcome, std::string_view key, std::string why) {
  ConvertedValue value;
  value.outcome = outcome;
  value.key = value.source_key = std::string(key);
  value.why = std::move(why);
  return value;
}

/// What becomes of which tensors, in place of what a new state would have of them.
void account(Conversion& conversion, const Meeting& meeting) {
  std::erase_if(conversion.values,
                [](const ConvertedValue& value) { return value.key == slots_key || value.key == format_key; });
  std::vector<ConvertedValue> tensors;
  tensors.push_back(told(Outcome::carried, slots_key, fmt::format("of {} tensors", meeting.taken.size())));
  if (!meeting.stay.empty()) {
    tensors.push_back(
        told(Outcome::kept, slots_key, "tensors of the checkpoint that the state has not: " + few(meeting.stay)));
  }
  tensors.push_back(told(Outcome::kept, format_key, ""));
  conversion.values.insert(conversion.values.begin(), tensors.begin(), tensors.end());
  if (!meeting.left.empty()) {
    conversion.values.push_back(
        told(Outcome::lost, slots_key, "tensors that the checkpoint has not: " + few(meeting.left)));
  }
  if (!meeting.of_other_format.empty()) {
    conversion.warnings.push_back(
        "scales were made for another format than the checkpoint's tensors have, until the "
        "next step makes them anew: " +
        few(meeting.of_other_format));
  }
}

}  // namespace

ModuleName parse_module_name(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals != text.npos && equals > 0) return {text.substr(0, equals), text.substr(equals + 1)};
  throw Error(Status::invalid_argument, fmt::format("'{}' says no module", text),
              "FROM=TO: parts of a module's path in SOURCE, and what the checkpoint has in their place");
}

ScalerState fp8_state_in(const Checkpoint& checkpoint, const std::optional<std::string>& layers,
                         const std::string& way) {
  chosen_fp8(checkpoint, {layers, true});  // refuses where there is none
  std::vector<NamedState> states = plain_states(checkpoint, layers);
  std::erase_if(states, [](const NamedState& named) { return find_fp8_policy(named.state.policy) == nullptr; });
  if (states.size() == 1) return std::move(states.front().state);
  std::string names;
  for (const NamedState& named : states) names.append(names.empty() ? "" : "; ").append(named.path);
  throw Error(Status::refused, checkpoint.resolved + ": its layers make several FP8 states: " + names,
              fmt::format("choose layers that are alike: {} GLOB", way));
}

IntoPlan plan_fp8_migration(const ScalerState& source, const Checkpoint& into, const IntoRequest& request) {
  if (!request.given.empty()) {
    throw Error(Status::invalid_argument,
                "--set: margins, algorithms and the lengths of histories stay those of the checkpoint",
                "change them in it: tare edit CHECKPOINT --layer GLOB, tare fp8 resize");
  }
  const ScalerState before = fp8_state_in(into, request.at, "--into-at");
  IntoPlan plan{{convert_fp8(renamed_source(source, request.modules), before.policy, {}, before.params), {}}, {}};
  Conversion& conversion = plan.migration.conversion;
  const Fp8Set incoming = start_fp8_from(conversion.state);
  const Meeting meeting = meeting_of(incoming, start_fp8_from(before));
  if (meeting.taken.empty()) {
    throw Error(Status::refused,
                fmt::format("{}: has none of the state's tensors: it has {}, the state {}", into.resolved,
                            few(meeting.stay), few(meeting.left)),
                "--module FROM=TO says what modules of SOURCE are called in the checkpoint");
  }
  account(conversion, meeting);
  EditRequest edit;
  edit.action = TakeFp8{conversion.state};
  edit.layer = request.at;
  edit.all = true;
  edit.force = request.force;
  plan.edit = plan_edit(into, edit);
  return plan;
}

}  // namespace tare
