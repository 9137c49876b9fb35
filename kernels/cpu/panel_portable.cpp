// Panels, as piece_portable.cpp has the passes.
#define HWY_COMPILE_ONLY_SCALAR
#include "kernels/cpu/panel-inl.hpp"

namespace tare::kernels::cpu {

constinit const PanelTable portable_panels =
    HWY_NAMESPACE::make_panels<HWY_NAMESPACE::F32, HWY_NAMESPACE::F16, HWY_NAMESPACE::BF16>();

}  // namespace tare::kernels::cpu
