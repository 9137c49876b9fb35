// The passes for 64-bit Arm: every such CPU has NEON. Its compiler flags stand in CMakeLists.txt.
#if defined(__aarch64__)
#include "kernels/cpu/write-inl.hpp"

namespace tare::kernels::cpu {

static_assert(TARE_IS_NEON && sizeof(HWY_NAMESPACE::hn::Vec<HWY_NAMESPACE::hn::ScalableTag<float>>) == 16,
              "the compiler flags do not fit");
constinit const PieceTable neon_pieces = HWY_NAMESPACE::make_table();

}  // namespace tare::kernels::cpu
#endif
