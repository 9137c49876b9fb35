// A rule at work: all that a step needs and changes.
#pragma once

#include "kernels/rule/dispatch.hpp"

namespace tare::rule {

/// Small, trivially copyable, fit for device memory.
struct RunningState {
  Policy policy;
  RuleState state;
  Counters counters;
};

}  // namespace tare::rule
