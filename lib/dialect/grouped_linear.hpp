// Which state is that of TransformerEngine's GroupedLinear, whose columns changed their order.
#pragma once

#include "lib/dialect/found.hpp"

namespace tare {

/// By what stood beside the state when it was found, or as it has more matrix products than other modules:
/// frameworks/transformer_engine.cpp.
bool is_of_grouped_linear(const FoundScaler& state);

}  // namespace tare
