// How far a scaler is from its next growth and its next back-off, carried from one rule to another.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/rule/running.hpp"
#include "lib/state/role.hpp"

namespace tare {

struct Phase {
  std::map<Role, std::string> why;  ///< how each counter of the target that was set came about
  std::vector<std::string> warnings;
};

/// Sets the counters of `to`, a scaler of another policy whose parameters and scale are set, so that it grows after as
/// many clean steps and backs off after as many overflows as `from`. `counter` gives the source's whole numbers by
/// role. What no value of the counters brings about is told in the warnings.
Phase transfer_phase(const rule::RunningState& from, rule::RunningState& to,
                     const std::function<std::optional<std::int64_t>(Role)>& counter);

}  // namespace tare
