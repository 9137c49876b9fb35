// The passes for x86-64 with SSE4.2. Its compiler flags stand in CMakeLists.txt.
#if defined(__x86_64__)
#include "kernels/cpu/write-inl.hpp"

namespace tare::kernels::cpu {

static_assert(HWY_TARGET == HWY_SSE4, "the compiler flags do not fit");
constinit const PieceTable sse4_pieces = HWY_NAMESPACE::make_table();

}  // namespace tare::kernels::cpu
#endif
