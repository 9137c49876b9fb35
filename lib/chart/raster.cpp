#include "lib/chart/raster.hpp"

#include <algorithm>
#include <cmath>

#include "lib/chart/letters.hpp"

namespace tare::chart {
namespace {

/// A capital is six of the letters' units and about seven tenths of its font's size high.
constexpr double unit_of_size = 0.12;

std::uint8_t mixed(std::uint8_t below, std::uint8_t above, double share) {
  return static_cast<std::uint8_t>(std::lround(below + (above - below) * share));
}

/// From a point to the nearest one of a line.
double distance(Place from, Place begin, Place end) {
  const double dx = end.x - begin.x, dy = end.y - begin.y, length = dx * dx + dy * dy;
  const double along = length == 0 ? 0 : ((from.x - begin.x) * dx + (from.y - begin.y) * dy) / length;
  const double at = std::clamp(along, 0.0, 1.0);
  return std::hypot(from.x - begin.x - at * dx, from.y - begin.y - at * dy);
}

/// The pixels from `from` to `to` and a pen's reach, inside `count`.
std::pair<std::uint32_t, std::uint32_t> reach(double from, double to, double by, std::uint32_t count) {
  const auto inside = [&](double at) {
    return static_cast<std::uint32_t>(std::clamp(at, 0.0, static_cast<double>(count)));
  };
  return {inside(std::floor(std::min(from, to) - by)), inside(std::ceil(std::max(from, to) + by))};
}

double width_of_letter(char letter) {
  if (letter == ' ') return letter_blank;
  double width = 0;
  const std::string_view strokes = strokes_of(letter);
  for (std::size_t i = 0; i < strokes.size(); i += strokes[i] == ' ' ? 1 : 2) {
    if (strokes[i] != ' ') width = std::max(width, static_cast<double>(strokes[i] - '0'));
  }
  return width;
}

}  // namespace

Raster::Raster(const Box& paper, double scale, Colour background)
    : columns_(static_cast<std::uint32_t>(paper.width * scale)),
      rows_(static_cast<std::uint32_t>(paper.height * scale)),
      scale_(scale),
      pixels_(std::size_t{columns_} * rows_, background) {}

std::span<const Colour> Raster::row(std::uint32_t row) const {
  return std::span(pixels_).subspan(std::size_t{row} * columns_, columns_);
}

void Raster::line(Place from, Place to, const Pen& pen) {
  const Place begin{from.x * scale_, from.y * scale_}, end{to.x * scale_, to.y * scale_};
  const double half = pen.width * scale_ / 2;
  const auto [left, right] = reach(begin.x, end.x, half + 1, columns_);
  const auto [top, bottom] = reach(begin.y, end.y, half + 1, rows_);
  for (std::uint32_t y = top; y < bottom; ++y) {
    for (std::uint32_t x = left; x < right; ++x) {
      // The share of the pixel that the pen covers, as of an edge that goes straight through it.
      const double away = distance({x + 0.5, y + 0.5}, begin, end);
      const double share = std::clamp(half + 0.5 - away, 0.0, 1.0);
      if (share == 0) continue;
      Colour& pixel = pixels_[std::size_t{y} * columns_ + x];
      pixel = {mixed(pixel.red, pen.colour.red, share), mixed(pixel.green, pen.colour.green, share),
               mixed(pixel.blue, pen.colour.blue, share)};
    }
  }
}

void Raster::disc(Place centre, double radius, Colour colour) {
  line(centre, centre, {colour, 2 * radius});
}

void Raster::text(std::string_view text, Place at, const LetterStyle& style) {
  const double unit = style.size * unit_of_size;
  const double width = width_of(text, style.size);
  double left = at.x - (style.anchor == Anchor::end ? width : style.anchor == Anchor::middle ? width / 2 : 0);
  for (const char letter : text) {
    std::string_view strokes = strokes_of(letter);
    while (!strokes.empty()) {
      const std::string_view stroke = strokes.substr(0, strokes.find(' '));
      const auto place = [&](std::size_t i) {
        return Place{left + unit * (stroke[i] - '0'), at.y - unit * (stroke[i + 1] - '0' - letter_baseline)};
      };
      if (stroke.size() == 2) line(place(0), place(0), style.pen);
      for (std::size_t i = 2; i < stroke.size(); i += 2) line(place(i - 2), place(i), style.pen);
      strokes.remove_prefix(std::min(stroke.size() + 1, strokes.size()));
    }
    left += unit * (width_of_letter(letter) + letter_gap);
  }
}

double width_of(std::string_view text, double size) {
  double width = 0;
  for (const char letter : text) width += width_of_letter(letter) + letter_gap;
  return std::max(width - letter_gap, 0.0) * size * unit_of_size;
}

}  // namespace tare::chart
