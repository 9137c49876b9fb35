#include "lib/codec/schema.hpp"

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/letters.hpp"
#include "lib/state/named_state.hpp"

namespace tare {

void require_readable_schema(std::string_view schema, const std::string& file) {
  if (schema == state_schema) return;
  constexpr std::string_view stem = state_schema.substr(0, state_schema.size() - 1);
  const std::string_view version = schema.starts_with(stem) ? schema.substr(stem.size()) : std::string_view();
  const bool is_version = !version.empty() && version.front() != '0' && std::ranges::all_of(version, is_digit);
  if (is_version) {
    throw Error(Status::unsupported,
                file + ": schema \"" + std::string(schema) + "\" is newer than this tare's \"" +
                    std::string(state_schema) + "\"",
                "Read it with a newer tare.");
  }
  if (schema == states_schema) {
    throw Error(Status::corrupt, file + ": holds several states, and one is wanted",
                "Take one by its path: tare_checkpoint_state.");
  }
  throw Error(Status::corrupt, file + ": schema \"" + std::string(schema) + "\" is not that of a scaler's state");
}

}  // namespace tare
