// A picture of pixels, drawn with one pen: lines with round ends, whose edges are smooth.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "lib/chart/drawing.hpp"

namespace tare::chart {

struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;

  bool operator==(const Colour&) const = default;
};

struct Pen {
  Colour colour;
  double width = 1;  ///< in the picture's units
};

struct LetterStyle {
  Pen pen;
  double size = 13;  ///< as fonts count it
  Anchor anchor = Anchor::start;
};

class Raster {
 public:
  /// `scale`: pixels a unit.
  Raster(const Box& paper, double scale, Colour background);

  void line(Place from, Place to, const Pen& pen);
  /// `radius` in units.
  void disc(Place centre, double radius, Colour colour);
  /// Printable ASCII; of other letters each byte is a box. `at`: on the baseline.
  void text(std::string_view text, Place at, const LetterStyle& style);

  [[nodiscard]] std::uint32_t columns() const { return columns_; }
  [[nodiscard]] std::uint32_t rows() const { return rows_; }
  [[nodiscard]] std::span<const Colour> row(std::uint32_t row) const;

 private:
  std::uint32_t columns_, rows_;
  double scale_;
  std::vector<Colour> pixels_;
};

/// In units.
double width_of(std::string_view text, double size);

}  // namespace tare::chart
