// Panels, as piece_avx512.cpp has the passes.
#if defined(__x86_64__)
#include "kernels/cpu/panel-inl.hpp"

namespace tare::kernels::cpu {

static_assert(HWY_TARGET == HWY_AVX3, "the compiler flags do not fit");
constinit const PanelTable avx512_panels =
    HWY_NAMESPACE::make_panels<HWY_NAMESPACE::F32, HWY_NAMESPACE::F16, HWY_NAMESPACE::BF16>();

}  // namespace tare::kernels::cpu
#endif
