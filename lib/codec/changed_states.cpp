#include "lib/codec/changed_states.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/codec/hdf5.hpp"
#include "lib/codec/json.hpp"
#include "lib/hdf5/superblock.hpp"

namespace tare {
namespace {

/// Takes the values of `changed`; what else stands there is not its own, and stays.
void take_values(StateSection& section, const StateSection& changed) {
  for (const auto& [key, value] : changed) section.set(key, value);
}

void put(std::vector<NamedState>& states, std::span<const NamedState> changed, const std::string& name) {
  for (const NamedState& one : changed) {
    const auto place = std::ranges::find(states, one.path, &NamedState::path);
    if (place == states.end()) throw Error(Status::internal, name + ": has no state '" + one.path + "'");
    take_values(place->state.params, one.state.params);
    take_values(place->state.fields, one.state.fields);
  }
}

bool is_single(const std::vector<NamedState>& states) {
  return states.size() == 1 && states.front().path.empty();
}

Bytes hdf5_with(const std::shared_ptr<const Source>& file, std::span<const NamedState> changed) {
  LoadedStates loaded = states_from_hdf5(file);
  if (!loaded.findings.empty()) {
    throw Error(Status::refused, loaded.findings.front().message + ": written anew, tare would vouch for it",
                "`tare inspect STATE --save NEW.h5` makes a state of tare's of it, which can be changed");
  }
  put(loaded.states, changed, file->name());
  if (!is_single(loaded.states)) return states_to_hdf5(loaded.states, Compression::gzip);
  return state_to_hdf5(loaded.states.front().state, Compression::gzip);
}

Bytes json_with(const Source& file, std::span<const NamedState> changed) {
  std::string text(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  std::vector<NamedState> states = states_from_json(text, file.name());
  put(states, changed, file.name());
  text = is_single(states) ? state_to_json(states.front().state) : states_to_json(states);
  const ByteView bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

Bytes file_with_states(const std::shared_ptr<const Source>& file, std::span<const NamedState> changed) {
  return has_hdf5_behind(*file) ? hdf5_with(file, changed) : json_with(*file, changed);
}

}  // namespace tare
