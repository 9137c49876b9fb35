// The CPU's table.
#pragma once

#include "kernels/backend.h"

namespace tare::kernels::cpu {

const tare_backend_table& table();

}  // namespace tare::kernels::cpu
