// What a tensor's values would become at another loss scale, in another format: counted from its exponents.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "kernels/dtype.hpp"
#include "lib/monitor/summary.hpp"

namespace tare::monitor {

/// How many values there are for sure, and how many there may be: a bin tells not where in an octave its values lie.
struct Bounds {
  std::uint64_t least = 0;
  std::uint64_t most = 0;

  bool operator==(const Bounds&) const = default;
};

/// Of the finite values that are not zero, rounded to nearest, ties to even.
struct AtScale {
  Bounds zero;       ///< that would become zero
  Bounds subnormal;  ///< that would become subnormal: what is rounded up to the smallest normal number is not
  Bounds beyond;     ///< that would become infinite, or nan in a format without infinities
};

/// REQUIRES: a scale that is finite and above 0, a format of find_narrow_format.
AtScale at_scale(const Summary& summary, double scale, Dtype format);

/// f16, bf16, f8e5m2 and f8e4m3fn, by those names; nothing for any other.
std::optional<Dtype> find_narrow_format(std::string_view name);

}  // namespace tare::monitor
