#include <tare/tare.h>

#include <algorithm>

#include "capi/src/guard.hpp"
#include "capi/src/handles.hpp"
#include "lib/base/text.hpp"
#include "lib/codec/state_file.hpp"

using namespace tare;
using namespace tare::capi;

namespace {

/// The state of that name; of a single one no name is needed.
const NamedState& named(const std::vector<NamedState>& states, const char* name) {
  if (name == nullptr) {
    if (states.size() == 1) return states.front();
    throw Error(Status::refused, "there are " + std::to_string(states.size()) + " states, and no name tells which",
                "tare_states_name gives the names.");
  }
  const auto found = std::ranges::find(states, std::string_view(name), &NamedState::path);
  if (found != states.end()) return *found;
  throw Error(Status::not_found, "there is no state \"" + escaped(name) + "\" among " + std::to_string(states.size()),
              "tare_states_name gives the names.");
}

}  // namespace

int32_t tare_states_create(tare_states** out, tare_error* error) {
  return guard_making(out, error, [&] { return new tare_states; });
}

int32_t tare_states_read(tare_states** out, const char* path, tare_error* error) {
  return guard_making(out, error, [&] {
    require(path, "path");
    auto states = std::make_unique<tare_states>();
    for (NamedState& state : read_states_file(path)) states->add(std::move(state));
    return states.release();
  });
}

int32_t tare_states_write(const tare_states* states, const char* path, tare_error* error) {
  return guard(error, [&] {
    require(states, "states");
    require(path, "path");
    write_states_file(states->states, path);
  });
}

int32_t tare_states_count(uint64_t* out, const tare_states* states, tare_error* error) {
  return guard(error, [&] {
    require(out, "out");
    require(states, "states");
    *out = states->states.size();
  });
}

int32_t tare_states_name(tare_text** out, const tare_states* states, uint64_t index, tare_error* error) {
  return guard_making(out, error, [&] {
    require(states, "states");
    if (index >= states->states.size()) {
      throw Error(Status::invalid_argument, "there is no state " + std::to_string(index) + ": there are " +
                                                std::to_string(states->states.size()));
    }
    return new_text(states->states[static_cast<std::size_t>(index)].path);
  });
}

int32_t tare_states_get(tare_state** out, const tare_states* states, const char* name, tare_error* error) {
  return guard_making(out, error, [&] {
    require(states, "states");
    return new tare_state{.state = named(states->states, name).state};
  });
}

int32_t tare_states_add(tare_states* states, const char* name, const tare_state* state, tare_error* error) {
  return guard(error, [&] {
    require(states, "states");
    required_text(name, "name");
    require(state, "state");
    states->add({name, state->state});
  });
}

void tare_states_destroy(tare_states* states) {
  destroy(states);
}
