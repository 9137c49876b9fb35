#include "lib/chart/drawing.hpp"

#include <fmt/format.h>

namespace tare::chart {
namespace {

constexpr double picture_width = 960, picture_height = 400;
constexpr double left_margin = 64, right_margin = 40, top_margin = 40, bottom_margin = 56;
constexpr double plot_width = picture_width - left_margin - right_margin,
                 plot_height = picture_height - top_margin - bottom_margin;
constexpr std::size_t most_points = 6000;
constexpr std::size_t most_events = 3000;
/// Lines at either end are drawn whole.
constexpr double line_margin = 4;

double x_of(double x, const Frame& frame) {
  return (x - frame.left) / (frame.right - frame.left) * plot_width;
}

double y_of_octave(double at, const Frame& frame) {
  return line_margin + (frame.top - at) / (frame.top - frame.bottom) * (plot_height - 2 * line_margin);
}

double y_of(double value, const Frame& frame) {
  return y_of_octave(octave(value, frame), frame);
}

/// Of very many those that would fall on each other are one.
std::vector<double> events_of(const Curve& curve, const Frame& frame) {
  std::vector<double> events;
  constexpr double least = plot_width / static_cast<double>(most_events);
  for (const double x : curve.events) {
    const double at = x_of(x, frame);
    if (events.empty() || at - events.back() >= least) events.push_back(at);
  }
  return events;
}

void add_axes(Drawing& drawing, const Frame& frame) {
  for (const double tick : octave_ticks(frame, 10)) {
    const double y = top_margin + y_of_octave(tick, frame);
    drawing.grid.push_back(y);
    const bool is_one = tick == 0;
    drawing.octaves.push_back(
        {{left_margin - 8, y + 4}, is_one ? "1" : "2", is_one ? "" : fmt::format("{:.0f}", tick)});
  }
  drawing.step_labels_y = picture_height - bottom_margin + 18;
  for (const double tick : x_ticks(frame, 8)) {
    drawing.step_labels.push_back({left_margin + x_of(tick, frame), step_text(tick)});
  }
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string legend_of(const Curve& curve) {
  const std::string marks = curve.marks.empty() ? "" : ", " + counted(curve.marks.size(), "checkpoint");
  return fmt::format("loss scale; {} (red){}", counted(curve.events.size(), "overflow"), marks);
}

}  // namespace

Drawing drawing_of(const Curve& curve) {
  const Frame frame = frame_of(curve);
  Drawing drawing;
  drawing.paper = {0, 0, picture_width, picture_height};
  drawing.plot = {left_margin, top_margin, plot_width, plot_height};
  drawing.title = curve.title;
  drawing.title_place = {left_margin, 24};
  drawing.unit = curve.unit;
  drawing.unit_place = {picture_width - right_margin, picture_height - bottom_margin + 36};
  drawing.legend = legend_of(curve);
  drawing.legend_place = {left_margin, picture_height - bottom_margin + 36};
  add_axes(drawing, frame);
  for (const Point& point : thinned(curve.points, most_points)) {
    drawing.corners.push_back({x_of(point.x, frame), y_of(point.value, frame)});
  }
  if (curve.last_x) drawing.end = x_of(*curve.last_x, frame);
  drawing.events = events_of(curve, frame);
  drawing.event_height = 9;
  for (const Mark& mark : curve.marks) {
    drawing.marks.push_back({{left_margin + x_of(mark.x, frame), top_margin + y_of(mark.value, frame)},
                             mark.label,
                             mark.is_good,
                             mark.is_bad});
  }
  return drawing;
}

}  // namespace tare::chart
