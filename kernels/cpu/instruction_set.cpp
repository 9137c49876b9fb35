#include "kernels/cpu/instruction_set.hpp"

#if defined(__aarch64__) && defined(TARE_SVE256)
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

namespace tare::kernels::cpu {
namespace {

struct Code {
  const PieceTable& pieces;
  const PanelTable& panels;
};

}  // namespace

const char* name_of(InstructionSet set) {
  switch (set) {
    case InstructionSet::portable:
      return "portable";
    case InstructionSet::sse4:
      return "sse4";
    case InstructionSet::avx2:
      return "avx2";
    case InstructionSet::avx512:
      return "avx512";
    case InstructionSet::neon:
      return "neon";
    case InstructionSet::sve256:
      return "sve256";
  }
  return "";
}

#if defined(__x86_64__)

// Every CPU with AVX2 has F16C and BMI1; not every compiler has a name for asking.
bool is_available(InstructionSet set) {
  switch (set) {
    case InstructionSet::portable:
      return true;
    case InstructionSet::sse4:
      return __builtin_cpu_supports("sse4.2") != 0;
    case InstructionSet::avx2:
      return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
             __builtin_cpu_supports("bmi2") != 0;
    case InstructionSet::avx512:
      return is_available(InstructionSet::avx2) && __builtin_cpu_supports("avx512f") != 0 &&
             __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512cd") != 0 &&
             __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
    case InstructionSet::neon:
    case InstructionSet::sve256:
      return false;
  }
  return false;
}

namespace {

Code code_of(InstructionSet set) {
  if (!is_available(set)) return {portable_pieces, portable_panels};
  switch (set) {
    case InstructionSet::portable:
      break;
    case InstructionSet::sse4:
      return {sse4_pieces, sse4_panels};
    case InstructionSet::avx2:
      return {avx2_pieces, avx2_panels};
    case InstructionSet::avx512:
      return {avx512_pieces, avx512_panels};
    case InstructionSet::neon:
    case InstructionSet::sve256:
      break;
  }
  return {portable_pieces, portable_panels};
}

}  // namespace

#elif defined(__aarch64__)

namespace {

#if defined(TARE_SVE256)

bool has_vectors_of_256_bits() {
  if ((getauxval(AT_HWCAP) & HWCAP_SVE) == 0) return false;
  const int length = prctl(PR_SVE_GET_VL);
  return length >= 0 && (length & PR_SVE_VL_LEN_MASK) == 256 / 8;
}

Code code_for_sve() {
  return {sve256_pieces, sve256_panels};
}

#else

bool has_vectors_of_256_bits() {
  return false;
}

Code code_for_sve() {
  return {portable_pieces, portable_panels};
}

#endif

}  // namespace

bool is_available(InstructionSet set) {
  switch (set) {
    case InstructionSet::portable:
    case InstructionSet::neon:
      return true;
    case InstructionSet::sve256:
      return has_vectors_of_256_bits();
    default:
      return false;
  }
}

namespace {

Code code_of(InstructionSet set) {
  if (set == InstructionSet::neon) return {neon_pieces, neon_panels};
  if (set == InstructionSet::sve256 && is_available(set)) return code_for_sve();
  return {portable_pieces, portable_panels};
}

}  // namespace

#else

bool is_available(InstructionSet set) {
  return set == InstructionSet::portable;
}

namespace {

Code code_of(InstructionSet) {
  return {portable_pieces, portable_panels};
}

}  // namespace

#endif

const PieceTable& pieces_of(InstructionSet set) {
  return code_of(set).pieces;
}

const PanelTable& panels_of(InstructionSet set) {
  return code_of(set).panels;
}

InstructionSet best_instruction_set() {
  InstructionSet best = InstructionSet::portable;
  for (const InstructionSet set : instruction_sets) {
    if (is_available(set)) best = set;
  }
  return best;
}

}  // namespace tare::kernels::cpu
