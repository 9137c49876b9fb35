#include "lib/edit/assign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "lib/base/error.hpp"
#include "lib/dialect/frameworks/tare.hpp"
#include "lib/edit/field_key.hpp"
#include "lib/edit/new_value.hpp"

namespace tare {
namespace {

[[noreturn]] void refuse_to_align(const Checkpoint& checkpoint, const StateWork& state, const std::string& why) {
  const std::size_t file = state.scaler->copies.front().places.front();
  throw Error(Status::refused, fmt::format("{}: cannot be aligned: {}", checkpoint.files[file].path, why),
              "tare inspect shows what each file holds; take that file from another save");
}

/// Python's numbers can take each other's place; a tensor cannot take one's.
bool is_kind_of(const Value& own, const Value& wanted) {
  const auto is_python = [](const Value& value) { return value.type.find(':') == std::string::npos; };
  return own.type == wanted.type || (is_python(own) && is_python(wanted));
}

std::string type_note(const Value& before, const Value& after) {
  return before.type == after.type ? "" : fmt::format("{} becomes {}", before.type, after.type);
}

NodeValue container_data(const Value& number) {
  if (const auto* flag = std::get_if<bool>(&number.data)) return *flag;
  if (const auto* integer = std::get_if<Integer>(&number.data)) return *integer;
  return number.as_double();
}

void assign_one(const Checkpoint& checkpoint, std::vector<StateWork>& states, const FoundScaler& reference,
                const Assignment& assignment, bool force) {
  for (const Field* field : fields_of(reference, assignment.key)) {
    const NewValue value = new_value(*field, assignment.value, force);
    if (is_own(reference) && !std::isfinite(value.after.as_double())) {
      throw Error(
          Status::refused,
          fmt::format("{}={}: a state of tare's is not loaded with that", assignment.key, given_text(assignment.value)),
          "give a finite number");
    }
    for (StateWork& state : states) {
      const std::size_t index = index_of(checkpoint, state, field->name);
      state.after.fields[index].value = value.after;
      state.fields[index] = {std::visit([](const auto& data) -> NodeValue { return data; }, value.data), value.note};
    }
  }
}

}  // namespace

const Scaler& most_common(const ScalerGroup& group) {
  return **std::max_element(group.begin(), group.end(), [](const Scaler* a, const Scaler* b) {
    return a->copies.size() < b->copies.size();  // of equals the first
  });
}

std::optional<Finding> told_of_tie(const Checkpoint& checkpoint, const ScalerGroup& group, const Scaler& chosen) {
  const std::size_t most = chosen.copies.size();
  const auto equals = std::ranges::count(group, most, [](const Scaler* one) { return one->copies.size(); });
  if (equals < 2) return std::nullopt;
  const std::string& file = checkpoint.files[chosen.copies.front().places.front()].path;
  return Finding{
      Severity::warning, "no-majority",
      fmt::format("{} states are held by {} file{} each, and none by more: all get this one, the first; where "
                  "another is right, give its values",
                  equals, most, most == 1 ? "" : "s"),
      file, chosen.state().path};
}

std::size_t index_of(const Checkpoint& checkpoint, const StateWork& state, const std::string& name) {
  const Field* field = state.after.find(name);
  if (field == nullptr) refuse_to_align(checkpoint, state, fmt::format("it has no {}", name));
  return static_cast<std::size_t>(field - state.after.fields.data());
}

void align(const Checkpoint& checkpoint, StateWork& state, const FoundScaler& reference) {
  if (state.after.fields.size() != reference.fields.size()) refuse_to_align(checkpoint, state, "it has other fields");
  for (const Field& wanted : reference.fields) {
    Field& own = state.after.fields[index_of(checkpoint, state, wanted.name)];
    if (same(own.value, wanted.value)) continue;
    const Value* number = wanted.value.number();
    if (!own.editable || number == nullptr || !is_kind_of(own.value, wanted.value)) {
      refuse_to_align(checkpoint, state,
                      fmt::format("its {} is of type {}, the others' of {}, and that cannot be changed", own.name,
                                  own.value.type, wanted.value.type));
    }
    state.fields[index_of(checkpoint, state, wanted.name)] = {container_data(*number),
                                                              type_note(own.value, wanted.value)};
    own.value = wanted.value;
  }
}

void require_each_once(const FoundScaler& state, const std::vector<Assignment>& assignments) {
  std::map<const Field*, const Assignment*> given;
  for (const Assignment& assignment : assignments) {
    for (const Field* field : fields_of(state, assignment.key)) {
      const auto [known, is_new] = given.try_emplace(field, &assignment);
      if (is_new) continue;
      throw Error(Status::invalid_argument,
                  fmt::format("{}={} and {}={} both set {}", known->second->key, given_text(known->second->value),
                              assignment.key, given_text(assignment.value), field->name));
    }
  }
}

void assign(const Checkpoint& checkpoint, std::vector<StateWork>& states, const FoundScaler& reference,
            const std::vector<Assignment>& assignments, bool force) {
  for (const Assignment& assignment : assignments) assign_one(checkpoint, states, reference, assignment, force);
}

}  // namespace tare
