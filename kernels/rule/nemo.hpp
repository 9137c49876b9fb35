// NeMo's GradScaler with hysteresis. NeMo 2.5.0rc0: nemo/lightning/_strategy_lib.py,
// nemo/collections/nlp/parts/nlp_overrides.py.
//
//   overflows in a row | scale          | growth tracker | hysteresis tracker
//   0 (a clean step)   | torch's growth | torch's        | filled
//   1 ... H - 1        | same           | 0              | - 1
//   H and every later  | x backoff      | 0              | - 1, below zero too
//
// It calls apex's kernel where apex is there and does the same with torch's where it is not: one rule.
#pragma once

#include "kernels/rule/apex_hysteresis.hpp"

namespace tare::rule {

using NemoParams = ApexHysteresisParams;
using NemoState = ApexHysteresisState;

}  // namespace tare::rule
