// The states that are no scaler's: what a monitor of tensors remembers, which lies in the same files.
#pragma once

#include <string_view>

namespace tare {

/// Where the policy of a scaler stands.
inline constexpr std::string_view monitor_policy = "monitor";

}  // namespace tare
