// Panels, as piece_sse4.cpp has the passes.
#if defined(__x86_64__)
#include "kernels/cpu/panel-inl.hpp"

namespace tare::kernels::cpu {

static_assert(HWY_TARGET == HWY_SSE4, "the compiler flags do not fit");
constinit const PanelTable sse4_panels =
    HWY_NAMESPACE::make_panels<HWY_NAMESPACE::F32, HWY_NAMESPACE::F16, HWY_NAMESPACE::BF16>();

}  // namespace tare::kernels::cpu
#endif
