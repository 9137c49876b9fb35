// A curve as a picture of pixels.
#pragma once

#include "lib/base/bytes.hpp"
#include "lib/chart/curve.hpp"

namespace tare::chart {

/// A whole PNG file of 1920 x 800 pixels: what svg_of draws, on white.
Bytes png_of(const Curve& curve);

}  // namespace tare::chart
