// The variables that a graph of OneFlow keeps its loss scale in.
#pragma once

#include <string_view>

namespace tare {

/// "System-Train-DynamicLossScale-GraphBase_0-LossScale", or its counter.
bool is_oneflow_variable(std::string_view name);

}  // namespace tare
