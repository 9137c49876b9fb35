// Magnitudes as bit patterns: an element's bits without its sign, compared as integers. The order is that of the
// magnitudes, infinity above every finite one, NaN above infinity; so one integer maximum finds both the greatest value
// and whether anything was not finite.
#pragma once

#include <cstdint>

#include "kernels/dtype.hpp"

namespace tare::kernels {

/// The magnitude that a pattern stands for, exactly; every NaN becomes the positive quiet one. 0 for an unknown dtype.
double magnitude(Dtype dtype, std::uint64_t pattern);

/// The lowest pattern whose magnitude is not below `threshold`, at most the first one that is not finite: a finite
/// value is below the threshold if its pattern is below this one. 0 if the threshold is NaN or not positive.
std::uint64_t pattern_of_threshold(Dtype dtype, double threshold);

}  // namespace tare::kernels
