#include "capi/src/run_options.hpp"

#include "capi/src/guard.hpp"
#include "capi/src/options.hpp"
#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/state/scaler_state.hpp"

namespace tare::capi {

std::vector<std::string> paths_of(const char* const* paths, std::uint64_t count) {
  require(paths, "paths");
  if (count == 0) throw Error(Status::invalid_argument, "path_count is 0", "give one path at least");
  std::vector<std::string> given;
  for (std::uint64_t i = 0; i < count; ++i) {
    require(paths[i], "paths[i]");
    given.emplace_back(paths[i]);
  }
  return given;
}

void take_thresholds(Thresholds& thresholds, const StateValue& value) {
  for (const auto& [name, number] : members_of(value, "thresholds"))
    set_threshold(thresholds, name + "=" + float_text(number_of(number, name)));
}

}  // namespace tare::capi
