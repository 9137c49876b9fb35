// Panels, as piece_sve256.cpp has the passes.
#if defined(__aarch64__) && defined(TARE_SVE256)
#include "kernels/cpu/panel-inl.hpp"

namespace tare::kernels::cpu {

static_assert(HWY_TARGET == HWY_SVE_256 && HWY_NAMESPACE::panel_lanes == 8, "the compiler flags do not fit");
constinit const PanelTable sve256_panels =
    HWY_NAMESPACE::make_panels<HWY_NAMESPACE::F32, HWY_NAMESPACE::F16, HWY_NAMESPACE::BF16>();

}  // namespace tare::kernels::cpu
#endif
