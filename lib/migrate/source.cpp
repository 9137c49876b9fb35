#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/checkpoint/choose.hpp"
#include "lib/codec/state_file.hpp"
#include "lib/dialect/policy.hpp"
#include "lib/migrate/migrate.hpp"

namespace tare {
namespace {

/// tare's own files are told by their content: a checkpoint may be JSON or HDF5 too.
std::optional<LoadedState> own_state(const std::string& path) {
  if (local_files().type(path) != FileType::file) return std::nullopt;
  try {
    return read_state_file(path);
  } catch (const Error& error) {
    if (error.status == Status::corrupt || error.status == Status::io) return std::nullopt;
    throw;
  }
}

}  // namespace

LoadedState migration_source(const std::string& path, const std::optional<std::string>& at, const ScopeOf& scope_of) {
  if (auto state = own_state(path)) return *std::move(state);
  const Checkpoint checkpoint = open_finished(path, {}, scope_of);
  return {to_state(chosen_scalers(checkpoint, {.at = at, .ways = "--at PLACE"}).front()->state())};
}

}  // namespace tare
