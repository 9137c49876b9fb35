// Which code this CPU can run. Chosen at run time, or forced for tests and comparisons; results never depend on it.
#pragma once

#include "kernels/cpu/panel.hpp"

namespace tare::kernels::cpu {

enum class InstructionSet { portable, sse4, avx2, avx512, neon, sve256 };

inline constexpr InstructionSet instruction_sets[] = {InstructionSet::portable, InstructionSet::sse4,
                                                      InstructionSet::avx2,     InstructionSet::avx512,
                                                      InstructionSet::neon,     InstructionSet::sve256};

/// "portable", "sse4", "avx2", "avx512", "neon", "sve256".
const char* name_of(InstructionSet set);
/// Whether this build has the code and this CPU and its kernel can run it. SVE: where the calling thread's vectors have
/// 256 bits; those of 128 have nothing over NEON, and other widths have no code.
bool is_available(InstructionSet set);
/// The widest available one.
InstructionSet best_instruction_set();
/// The code; of the portable set if `set` is not available.
const PieceTable& pieces_of(InstructionSet set);
const PanelTable& panels_of(InstructionSet set);

}  // namespace tare::kernels::cpu
