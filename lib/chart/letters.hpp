// Printable ASCII as strokes, for pictures that have no font.
#pragma once

#include <string_view>

namespace tare::chart {

/// Heights above the lowest point of a descender, in the letters' own units.
inline constexpr double letter_baseline = 2, letter_top = 8;
/// Between two letters; a blank is one `letter_blank` wide.
inline constexpr double letter_gap = 2, letter_blank = 2;

/// Strokes with a blank between: each a row of points, two digits a point, x to the right and y up. One point alone is
/// a dot. Letters that there are not are drawn as a box.
std::string_view strokes_of(char letter);

}  // namespace tare::chart
