// A tensor's summary on the CPU.
#pragma once

#include "kernels/cpu/instruction_set.hpp"
#include "kernels/launch.hpp"
#include "kernels/summary.hpp"

namespace tare::kernels::cpu {

/// REQUIRES: a dtype that is known; a scale that is finite and above 0.
Summary summarise(const Tensor& tensor, double scale, InstructionSet set = best_instruction_set());

}  // namespace tare::kernels::cpu
