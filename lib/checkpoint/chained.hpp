// Optimizers that one chain holds, each with a scaler (Dialect::before_chain_number).
#pragma once

#include <vector>

#include "lib/base/finding.hpp"
#include "lib/checkpoint/checkpoint.hpp"

namespace tare {

/// Tells of chains whose scalers have gone apart. The loss is scaled by the first one's scale
/// (ChainedOptimizer.get_loss_scale, megatron-core 0.19: megatron/core/optimizer/optimizer.py), and each optimizer
/// unscales by its own.
void tell_of_chains(const std::vector<Scaler>& scalers, std::vector<Finding>& findings);

}  // namespace tare
