// Panels, as piece_neon.cpp has the passes.
#if defined(__aarch64__)
#include "kernels/cpu/panel-inl.hpp"

namespace tare::kernels::cpu {

static_assert(TARE_IS_NEON && HWY_NAMESPACE::panel_lanes == 4, "the compiler flags do not fit");
constinit const PanelTable neon_panels =
    HWY_NAMESPACE::make_panels<HWY_NAMESPACE::F32, HWY_NAMESPACE::F16, HWY_NAMESPACE::BF16>();

}  // namespace tare::kernels::cpu
#endif
