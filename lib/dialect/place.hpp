// Which trainer keeps a scaler under which key and in which file.
#pragma once

#include <string>

#include "lib/dialect/dialect.hpp"

namespace tare {

/// Whose place it is, as a sentence names it; empty where nothing tells.
std::string place_of(const FoundScaler& scaler, const FileContext& file, const Tree& tree);

}  // namespace tare
