// Loss scalers that lie beside each other in one checkpoint: a GAN's two, Apex's one for each loss.
#pragma once

#include <vector>

#include "lib/base/finding.hpp"
#include "lib/checkpoint/checkpoint.hpp"

namespace tare {

/// Tells (`scales-far-apart`, a note) of scalers of one dialect whose scales are 2^10 or more apart. Of Megatron's
/// chains `tell_of_chains` tells, which must be equal.
void tell_of_scales_far_apart(const std::vector<Scaler>& scalers, std::vector<Finding>& findings);

}  // namespace tare
