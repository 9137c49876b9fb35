// Policies by the names that users give them.
#pragma once

#include <algorithm>
#include <string_view>

#include "kernels/rule/policy.hpp"

namespace tare {

/// "deepspeed fused", or "deepspeed" by its usual variant; null where there is none.
inline const rule::PolicySpec* policy_named(std::string_view full_name) {
  const std::size_t space = std::min(full_name.find(' '), full_name.size());
  const std::string_view variant = full_name.substr(std::min(space + 1, full_name.size()));
  return rule::find_policy(full_name.substr(0, space), variant);
}

}  // namespace tare
