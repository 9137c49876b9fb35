// What a picture of a curve is made of, before it is an SVG or a PNG: where each line, letter and mark stands.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/chart/curve.hpp"

namespace tare::chart {

/// In the picture's units: x to the right, y down.
struct Place {
  double x = 0, y = 0;
};

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

/// Where a text stands beside its place.
enum class Anchor { start, middle, end };

/// A power of two as an axis names it.
struct OctaveLabel {
  Place place;
  std::string base, exponent;  ///< "2" and "16"; "1" and nothing
};

struct StepLabel {
  double x = 0;
  std::string text;
};

struct DrawnMark {
  Place place;
  std::string label;  ///< not escaped
  bool is_good = false, is_bad = false;
};

struct Drawing {
  Box paper, plot;
  std::string title, unit, legend;  ///< not escaped
  Place title_place, unit_place, legend_place;
  std::vector<double> grid;  ///< y of lines across the plot
  std::vector<OctaveLabel> octaves;
  double step_labels_y = 0;
  std::vector<StepLabel> step_labels;
  std::vector<Place> corners;  ///< of the curve, inside the plot: from each to the right, then up or down to the next
  std::optional<double> end;   ///< where it ends, inside the plot
  std::vector<double> events;  ///< x inside the plot: ticks at its foot
  double event_height = 0;
  std::vector<DrawnMark> marks;
};

/// A few thousand corners and ticks at the most, whatever the curve has.
Drawing drawing_of(const Curve& curve);

}  // namespace tare::chart
