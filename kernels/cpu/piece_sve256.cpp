// The passes for 64-bit Arm whose vectors of SVE have 256 bits. Its compiler flags stand in CMakeLists.txt.
#if defined(__aarch64__) && defined(TARE_SVE256)
#include "kernels/cpu/write-inl.hpp"

namespace tare::kernels::cpu {

static_assert(HWY_TARGET == HWY_SVE_256, "the compiler flags do not fit");
constinit const PieceTable sve256_pieces = HWY_NAMESPACE::make_table();

}  // namespace tare::kernels::cpu
#endif
