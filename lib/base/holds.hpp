// Whether a short list has a value in it.
#pragma once

#include <algorithm>
#include <iterator>

namespace tare {

template <typename Range>
constexpr bool holds(const Range& range, const auto& value) {
  return std::find(std::begin(range), std::end(range), value) != std::end(range);
}

}  // namespace tare
