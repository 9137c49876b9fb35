#include "lib/chart/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace tare::chart {
namespace {

constexpr std::size_t label_columns = 7;
constexpr std::size_t least_columns = 20;

/// Dots of a picture: two columns and four rows of them in a letter of braille, one of each in ASCII.
class Dots {
 public:
  Dots(std::size_t columns, std::size_t rows, bool is_ascii)
      : is_ascii_(is_ascii),
        wide_(is_ascii ? 1 : 2),
        high_(is_ascii ? 1 : 4),
        columns_(columns),
        rows_(rows),
        dots_(columns * wide_ * rows * high_) {}

  [[nodiscard]] std::size_t width() const { return columns_ * wide_; }
  [[nodiscard]] std::size_t height() const { return rows_ * high_; }
  void set(std::size_t x, std::size_t y) { dots_[y * width() + x] = true; }

  [[nodiscard]] std::string row(std::size_t row) const {
    std::string text;
    for (std::size_t column = 0; column < columns_; ++column) text += letter(column, row);
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

 private:
  [[nodiscard]] std::string letter(std::size_t column, std::size_t row) const {
    if (is_ascii_) return dots_[row * width() + column] ? "*" : " ";
    // Unicode, "Braille Patterns": the bits of a letter's eight dots.
    constexpr std::array<std::array<unsigned, 2>, 4> bits = {{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};
    unsigned pattern = 0;
    for (std::size_t y = 0; y < 4; ++y) {
      for (std::size_t x = 0; x < 2; ++x) {
        if (dots_[(row * 4 + y) * width() + column * 2 + x]) pattern |= bits[y][x];
      }
    }
    if (pattern == 0) return " ";
    const unsigned code = 0x2800 + pattern;
    return {static_cast<char>(0xE0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3F)),
            static_cast<char>(0x80 | (code & 0x3F))};
  }

  bool is_ascii_;
  std::size_t wide_, high_, columns_, rows_;
  std::vector<bool> dots_;
};

std::size_t place(double at, double from, double to, std::size_t count) {
  const double share = (at - from) / (to - from);
  return static_cast<std::size_t>(
      std::clamp(share * static_cast<double>(count - 1) + 0.5, 0.0, static_cast<double>(count - 1)));
}

void draw(Dots& dots, const Curve& curve, const Frame& frame) {
  std::optional<std::size_t> last;
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const Point& point = curve.points[i];
    const double end = i + 1 < curve.points.size() ? curve.points[i + 1].x : curve.last_x.value_or(point.x);
    const std::size_t y = dots.height() - 1 - place(octave(point.value, frame), frame.bottom, frame.top, dots.height());
    const std::size_t from = place(point.x, frame.left, frame.right, dots.width());
    const std::size_t to = place(std::max(end, point.x), frame.left, frame.right, dots.width());
    for (std::size_t x = from; x <= to; ++x) dots.set(x, y);
    for (std::size_t between = std::min(y, last.value_or(y)); between <= std::max(y, last.value_or(y)); ++between) {
      dots.set(from, between);
    }
    last = y;
  }
}

/// A row of letters at places; a later letter never hides a bad one.
std::string row_of(const std::vector<std::pair<double, char>>& letters, const Frame& frame, std::size_t columns) {
  std::string row(columns, ' ');
  for (const auto& [x, letter] : letters) {
    char& there = row[place(x, frame.left, frame.right, columns)];
    if (there != '!') there = letter;
  }
  row.erase(row.find_last_not_of(' ') + 1);
  return row;
}

std::string step_axis(const Curve& curve, const Frame& frame, std::size_t columns) {
  std::string row(columns, ' ');
  std::size_t free_from = 0;
  for (const double tick : x_ticks(frame, columns / 14)) {
    const std::string text = step_text(tick);
    const std::size_t at = place(tick, frame.left, frame.right, columns);
    const std::size_t from = at + text.size() > columns ? columns - std::min(columns, text.size()) : at;
    if (from < free_from || from + text.size() > columns) continue;
    row.replace(from, text.size(), text);
    free_from = from + text.size() + 1;
  }
  row.erase(row.find_last_not_of(' ') + 1);
  return row.size() + 2 + curve.unit.size() <= columns ? row + "  " + curve.unit : row;
}

}  // namespace

Picture draw_in_letters(const Curve& curve, const TerminalSize& size) {
  const std::size_t columns = std::max(size.columns, least_columns) - label_columns - 1;
  const Frame frame = frame_of(curve);
  Dots dots(columns, size.rows, size.is_ascii);
  draw(dots, curve, frame);
  std::vector<std::string> labels(size.rows);
  for (const double tick : octave_ticks(frame, size.rows)) {
    labels[size.rows - 1 - place(tick, frame.bottom, frame.top, size.rows)] = octave_text(tick);
  }
  Picture picture;
  const char* axis = size.is_ascii ? "|" : "│";
  for (std::size_t row = 0; row < size.rows; ++row) {
    picture.curve.push_back(fmt::format("{:>{}}{}{}", labels[row], label_columns, axis, dots.row(row)));
  }
  const std::string margin(label_columns + 1, ' ');
  std::vector<std::pair<double, char>> letters;
  for (const double x : curve.events) letters.emplace_back(x, 'x');
  if (!letters.empty()) picture.events = margin + row_of(letters, frame, columns);
  letters.clear();
  for (const Mark& mark : curve.marks) letters.emplace_back(mark.x, mark.is_bad ? '!' : mark.is_good ? 'o' : '|');
  if (!letters.empty()) picture.marks = margin + row_of(letters, frame, columns);
  picture.steps = margin + step_axis(curve, frame, columns);
  return picture;
}

}  // namespace tare::chart
