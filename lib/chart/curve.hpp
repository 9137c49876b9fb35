// A scale over the steps of a run, as charts draw it: on a logarithmic axis, in steps, with what happened marked.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tare::chart {

/// From here on the curve has that value.
struct Point {
  double x = 0;      ///< a step
  double value = 0;  ///< a scale; 0, infinities and NaN are drawn at the edge
};

struct Mark {
  double x = 0;
  double value = 0;
  std::string label;  ///< not escaped
  bool is_good = false, is_bad = false;
};

struct Curve {
  std::string title;             ///< not escaped
  std::string unit = "step";     ///< what x counts
  std::vector<Point> points;     ///< by x
  std::vector<double> events;    ///< overflows, by x
  std::vector<Mark> marks;       ///< checkpoints
  std::optional<double> last_x;  ///< where the last value ends; nothing: at the last point
};

/// Where a curve lies: x from `left` to `right`, powers of two from `bottom` to `top`, all of them different.
struct Frame {
  double left = 0, right = 1;
  double bottom = 0, top = 1;
};

Frame frame_of(const Curve& curve);

/// log2 of a value, held inside the frame.
double octave(double value, const Frame& frame);

/// No more than about `most` points: of each stretch the first, the least, the greatest and the last.
std::vector<Point> thinned(const std::vector<Point>& points, std::size_t most);

/// Powers of two, and x, that an axis of that room names: at most about `most` of them.
std::vector<double> octave_ticks(const Frame& frame, std::size_t most);
std::vector<double> x_ticks(const Frame& frame, std::size_t most);

/// "2^16", "1".
std::string octave_text(double octave);
/// "12,000"
std::string step_text(double x);

}  // namespace tare::chart
