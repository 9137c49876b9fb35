// The passes for any CPU: one element at a time, without SIMD of its own. Its compiler flags stand in CMakeLists.txt.
#define HWY_COMPILE_ONLY_SCALAR
#include "kernels/cpu/write-inl.hpp"

namespace tare::kernels::cpu {

constinit const PieceTable portable_pieces = HWY_NAMESPACE::make_table();

}  // namespace tare::kernels::cpu
