// numpy's names for element types.
#pragma once

#include <bit>
#include <string_view>

#include "lib/tree/tensor.hpp"

namespace tare {

/// The type of a code with or without a byte order in front ("<f4", "f4", "|b1"), or one of size 0.
ElementType numpy_type(std::string_view code);

/// What the code says, little-endian where it says nothing.
std::endian numpy_order(std::string_view code);

}  // namespace tare
