#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/checkpoint/choose.hpp"
#include "lib/checkpoint/plain_states.hpp"
#include "lib/codec/state_file.hpp"
#include "lib/dialect/policy.hpp"
#include "lib/migrate/migrate.hpp"
#include "lib/state/fp8_policy.hpp"

namespace tare {
namespace {

/// tare's own files are told by their content: a checkpoint may be JSON or HDF5 too.
std::optional<LoadedState> own_state(const std::string& path, LoadedState (*read)(const std::string&)) {
  if (local_files().type(path) != FileType::file) return std::nullopt;
  try {
    return read(path);
  } catch (const Error& error) {
    if (error.status == Status::corrupt || error.status == Status::io) return std::nullopt;
    throw;
  }
}

/// The one FP8 state of the layers that are meant.
ScalerState fp8_state(const Checkpoint& checkpoint, const std::optional<std::string>& layers) {
  chosen_fp8(checkpoint, {layers, true});  // refuses where there is none
  std::vector<NamedState> states = plain_states(checkpoint, layers);
  std::erase_if(states, [](const NamedState& named) { return find_fp8_policy(named.state.policy) == nullptr; });
  if (states.size() == 1) return std::move(states.front().state);
  std::string names;
  for (const NamedState& named : states) names.append(names.empty() ? "" : "; ").append(named.path);
  throw Error(Status::refused, checkpoint.resolved + ": its layers make several FP8 states: " + names,
              "choose layers that are alike: --at GLOB");
}

}  // namespace

LoadedState migration_source(const std::string& path, const SourceChoice& choice, const ScopeOf& scope_of) {
  const bool is_fp8 = choice.framework && find_fp8_policy(*choice.framework) != nullptr;
  if (auto state = own_state(path, is_fp8 ? read_fp8_state_file : read_state_file)) return *std::move(state);
  const Checkpoint checkpoint = open_finished(path, {}, scope_of);
  if (is_fp8) return {fp8_state(checkpoint, choice.at)};
  return {to_state(chosen_scalers(checkpoint, {.at = choice.at, .ways = "--at PLACE"}).front()->state())};
}

}  // namespace tare
