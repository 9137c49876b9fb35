// Fields that several shapes have in common.
#pragma once

#include <algorithm>
#include <array>

#include "lib/trace/text/line_shape.hpp"

namespace tare {

template <std::size_t... sizes>
constexpr auto joined(const std::array<LineField, sizes>&... parts) {
  std::array<LineField, (sizes + ...)> all{};
  auto end = all.begin();
  ((end = std::copy(parts.begin(), parts.end(), end)), ...);
  return all;
}

}  // namespace tare
