// A tensor's summary on the CPU.
#pragma once

#include "kernels/launch.hpp"
#include "kernels/summary.hpp"

namespace tare::kernels::cpu {

/// REQUIRES: a dtype that is known; a scale that is finite and above 0.
Summary summarise(const Tensor& tensor, double scale);

}  // namespace tare::kernels::cpu
