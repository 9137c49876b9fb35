#include "lib/chart/curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tare::chart {
namespace {

constexpr double least_octave = -149, greatest_octave = 1024;

}  // namespace

Frame frame_of(const Curve& curve) {
  Frame frame{INFINITY, -INFINITY, INFINITY, -INFINITY};
  const auto include = [&](double x, double value) {
    frame.left = std::min(frame.left, x);
    frame.right = std::max(frame.right, x);
    if (!(value > 0) || !std::isfinite(value)) return;
    frame.bottom = std::min(frame.bottom, std::floor(std::log2(value)));
    frame.top = std::max(frame.top, std::ceil(std::log2(value)));
  };
  for (const Point& point : curve.points) include(point.x, point.value);
  for (const Mark& mark : curve.marks) include(mark.x, mark.value);
  for (const double x : curve.events) include(x, 0);
  if (curve.last_x) include(*curve.last_x, 0);
  if (!(frame.left <= frame.right)) frame = {0, 1, 0, 1};
  if (!(frame.bottom <= frame.top)) frame.bottom = 0, frame.top = 1;
  const bool has_zero = std::ranges::any_of(curve.points, [](const Point& point) { return !(point.value > 0); });
  if (has_zero || frame.bottom == frame.top) frame.bottom -= 1;
  if (frame.left == frame.right) frame.right += 1;
  frame.bottom = std::max(frame.bottom, least_octave - 1);
  return frame;
}

double octave(double value, const Frame& frame) {
  if (std::isnan(value) || value <= 0) return frame.bottom;
  return std::clamp(std::log2(std::min(value, std::exp2(greatest_octave - 1))), frame.bottom, frame.top);
}

std::vector<Point> thinned(const std::vector<Point>& points, std::size_t most) {
  const std::size_t length = std::max<std::size_t>(4 * points.size() / std::max<std::size_t>(most, 4), 4);
  if (points.size() <= most) return points;
  std::vector<Point> kept;
  for (std::size_t from = 0; from < points.size(); from += length) {
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(from);
    const auto last = points.begin() + static_cast<std::ptrdiff_t>(std::min(from + length, points.size()));
    const auto [least, greatest] =
        std::minmax_element(first, last, [](const Point& a, const Point& b) { return a.value < b.value; });
    std::vector<std::vector<Point>::const_iterator> chosen = {first, least, greatest, last - 1};
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    for (const auto& point : chosen) kept.push_back(*point);
  }
  return kept;
}

std::vector<double> octave_ticks(const Frame& frame, std::size_t most) {
  double distance = 1;
  while ((frame.top - frame.bottom) / distance > static_cast<double>(most)) distance *= 2;
  std::vector<double> ticks;
  for (double at = std::ceil(frame.bottom / distance) * distance; at <= frame.top; at += distance) ticks.push_back(at);
  return ticks;
}

std::vector<double> x_ticks(const Frame& frame, std::size_t most) {
  const double rough = (frame.right - frame.left) / static_cast<double>(std::max<std::size_t>(most, 1));
  double distance = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {2.0, 2.5, 2.0}) {
    if (distance < rough) distance *= factor;
  }
  distance = std::max(distance, 1.0);
  std::vector<double> ticks;
  for (double at = std::ceil(frame.left / distance) * distance; at <= frame.right; at += distance) ticks.push_back(at);
  return ticks;
}

std::string octave_text(double octave) {
  return octave == 0 ? "1" : fmt::format("2^{:.0f}", octave);
}

std::string step_text(double x) {
  std::string digits = fmt::format("{:.0f}", std::abs(x));
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  if (x < 0) digits.insert(0, 1, '-');
  return digits;
}

}  // namespace tare::chart
