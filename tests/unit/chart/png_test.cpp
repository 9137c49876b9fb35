// A PNG as whoever opens it reads it: the file's parts, and the pixels that were drawn.
#include "lib/chart/png.hpp"

#include <zlib.h>

#include <algorithm>
#include <cmath>

#include "lib/base/crc32.hpp"
#include "lib/base/text.hpp"
#include "lib/chart/drawing.hpp"
#include "lib/chart/raster.hpp"
#include "tests/catch.hpp"

using namespace tare::chart;

namespace {

constexpr Colour paper_white{255, 255, 255}, pen_black{0, 0, 0}, line_blue{0x09, 0x69, 0xda}, bad_red{0xcf, 0x22, 0x2e},
    good_green{0x1a, 0x7f, 0x37}, other_grey{0x8c, 0x95, 0x9f}, grid_grey{0xe4, 0xe7, 0xeb};

std::uint32_t number_at(tare::ByteView file, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8U | std::to_integer<std::uint32_t>(file[at + i]);
  return number;
}

struct Chunk {
  std::string type;
  tare::ByteView content;
  bool is_sound = false;
};

std::vector<Chunk> chunks_of(tare::ByteView file) {
  std::vector<Chunk> chunks;
  for (std::size_t at = 8; at + 12 <= file.size();) {
    const std::size_t size = number_at(file, at);
    REQUIRE(at + 12 + size <= file.size());
    chunks.push_back({std::string(tare::as_text(file.subspan(at + 4, 4))), file.subspan(at + 8, size),
                      number_at(file, at + 8 + size) == tare::crc32(file.subspan(at + 4, size + 4))});
    at += 12 + size;
  }
  return chunks;
}

/// The pixels of a file of eight bits a colour whose rows are told by their difference to the row above.
class Pixels {
 public:
  explicit Pixels(const tare::Bytes& file) {
    const auto chunks = chunks_of(file);
    REQUIRE(chunks.size() == 3);
    columns_ = number_at(chunks[0].content, 0);
    rows_ = number_at(chunks[0].content, 4);
    plain_.resize(std::size_t{rows_} * row_bytes());
    uLongf size = plain_.size();
    const tare::ByteView packed = chunks[1].content;
    REQUIRE(uncompress(plain_.data(), &size, reinterpret_cast<const Bytef*>(packed.data()), packed.size()) == Z_OK);
    REQUIRE(size == plain_.size());
    for (std::size_t y = 0; y < rows_; ++y) {
      REQUIRE(plain_[y * row_bytes()] == 2);
      for (std::size_t i = 1; y > 0 && i < row_bytes(); ++i) {
        plain_[y * row_bytes() + i] =
            static_cast<std::uint8_t>(plain_[y * row_bytes() + i] + plain_[(y - 1) * row_bytes() + i]);
      }
    }
  }

  /// At a place in the picture's units, of which each has two pixels.
  [[nodiscard]] Colour at(double x, double y) const {
    const std::size_t byte = static_cast<std::size_t>(y * 2) * row_bytes() + 1 + static_cast<std::size_t>(x * 2) * 3;
    return {plain_.at(byte), plain_.at(byte + 1), plain_.at(byte + 2)};
  }
  /// Whether anything was drawn there.
  [[nodiscard]] bool has_ink(double left, double right, double top, double bottom) const {
    for (double y = top; y < bottom; y += 0.5) {
      for (double x = left; x < right; x += 0.5) {
        if (at(x, y) != paper_white) return true;
      }
    }
    return false;
  }

 private:
  [[nodiscard]] std::size_t row_bytes() const { return 1 + std::size_t{columns_} * 3; }

  std::uint32_t columns_ = 0, rows_ = 0;
  std::vector<std::uint8_t> plain_;
};

Curve descent() {
  Curve curve;
  curve.title = "run";
  curve.points = {{0, 16}, {50, 4}, {100, 1}};
  curve.events = {50};
  curve.marks = {{25, 16, "", true, false}, {75, 4, "", false, false}, {150, 1, "", false, true}};
  curve.last_x = 200;
  return curve;
}

/// The columns and rows of a raster that are not all white: left, right, top and bottom.
struct Extent {
  double left = HUGE_VAL, right = -1, top = HUGE_VAL, bottom = -1;
};

Extent extent_of(const Raster& raster) {
  Extent extent;
  for (std::uint32_t y = 0; y < raster.rows(); ++y) {
    for (std::uint32_t x = 0; x < raster.columns(); ++x) {
      if (raster.row(y)[x] == paper_white) continue;
      extent.left = std::min<double>(extent.left, x);
      extent.right = std::max<double>(extent.right, x + 1);
      extent.top = std::min<double>(extent.top, y);
      extent.bottom = std::max<double>(extent.bottom, y + 1);
    }
  }
  return extent;
}

}  // namespace

TEST_CASE("a PNG's parts are those that every viewer asks for, each with its checksum") {
  const tare::Bytes file = png_of(descent());
  CHECK(tare::as_text(tare::ByteView(file).first(8)) == "\x89PNG\r\n\x1a\n");
  const auto chunks = chunks_of(file);
  REQUIRE(chunks.size() == 3);
  CHECK(chunks[0].type == "IHDR");
  CHECK(chunks[1].type == "IDAT");
  CHECK(chunks[2].type == "IEND");
  for (const Chunk& chunk : chunks) CHECK(chunk.is_sound);
  CHECK(number_at(chunks[0].content, 0) == 1920);
  CHECK(number_at(chunks[0].content, 4) == 800);
  CHECK(tare::as_text(chunks[0].content.subspan(8)) == std::string("\x08\x02\0\0\0", 5));
  CHECK(chunks[2].content.empty());
}

TEST_CASE("a PNG shows the curve in blue, overflows in red, and checkpoints in the colour of what they are worth") {
  const Drawing drawing = drawing_of(descent());
  const Pixels pixels(png_of(descent()));
  const Box& plot = drawing.plot;
  const double y = plot.y + drawing.corners[1].y, middle = plot.x + plot.width / 2;
  CHECK(pixels.at(plot.x + 10, plot.y + drawing.corners[0].y) == line_blue);
  CHECK(pixels.at(plot.x + plot.width / 4, y - 40) == line_blue);  // down to the next
  CHECK(pixels.at(middle, plot.y + drawing.corners[2].y - 40) == line_blue);
  CHECK(pixels.at(middle + 40, plot.y + drawing.corners[2].y) == line_blue);
  CHECK(pixels.at(plot.x + plot.width - 2, plot.y + drawing.corners[2].y) == line_blue);  // up to its end
  CHECK(pixels.at(plot.x + plot.width / 4, plot.y + plot.height - 5) == bad_red);
  CHECK(pixels.at(plot.x + plot.width / 4, plot.y + plot.height - 15) == paper_white);
  const std::vector<Colour> worth = {good_green, other_grey, bad_red};
  for (std::size_t i = 0; i < worth.size(); ++i) {
    const Place& place = drawing.marks[i].place;
    CHECK(pixels.at(place.x, place.y) == worth[i]);
    CHECK(pixels.at(place.x, place.y - 5.3) == paper_white);  // its rim parts it from the curve
  }
  CHECK(pixels.at(middle + 20, drawing.grid[2]) == grid_grey);
  CHECK(pixels.at(plot.x + plot.width + 2, drawing.grid[2]) == paper_white);
}

TEST_CASE("a PNG has its title, the names of both axes, the legend and the unit where their places are") {
  const Drawing drawing = drawing_of(descent());
  const Pixels pixels(png_of(descent()));
  const auto& [left, top] = drawing.title_place;
  CHECK(pixels.has_ink(left, left + 20, top - 12, top + 4));
  CHECK_FALSE(pixels.has_ink(0, left - 2, top - 12, top + 4));
  for (const OctaveLabel& label : drawing.octaves) {
    CHECK(pixels.has_ink(label.place.x - 20, label.place.x, label.place.y - 8, label.place.y));
    CHECK_FALSE(pixels.has_ink(label.place.x + 2, drawing.plot.x - 2, label.place.y - 14, label.place.y - 6));
  }
  for (const StepLabel& label : drawing.step_labels) {
    CHECK(pixels.has_ink(label.x - 4, label.x + 5, drawing.step_labels_y - 10, drawing.step_labels_y));
    CHECK_FALSE(pixels.has_ink(label.x + 14, label.x + 30, drawing.step_labels_y - 10, drawing.step_labels_y));
  }
  const auto& [legend_left, foot] = drawing.legend_place;
  CHECK(pixels.has_ink(legend_left, legend_left + 20, foot - 10, foot));
  CHECK_FALSE(pixels.has_ink(0, legend_left - 2, foot - 10, foot));
  CHECK(pixels.has_ink(drawing.unit_place.x - 20, drawing.unit_place.x + 1, foot - 10, foot));
  CHECK_FALSE(pixels.has_ink(drawing.unit_place.x + 2, drawing.paper.width, foot - 10, foot));
}

TEST_CASE("letters stand on their line, as high as their font's capitals, before, around or behind their place") {
  const double width = width_of("HEH", 50);
  CHECK(width == Approx((4 + 4 + 4 + 2 * 2) * 6));
  CHECK(width_of("", 50) == 0);
  CHECK(width_of("H H", 50) == Approx((4 + 2 + 4 + 2 * 2) * 6));
  const std::pair<Anchor, double> places[] = {
      {Anchor::start, 150}, {Anchor::middle, 150 - width / 2}, {Anchor::end, 150 - width}};
  for (const auto& [anchor, left] : places) {
    Raster raster({0, 0, 300, 80}, 1, paper_white);
    raster.text("HEH", {150, 60}, {{pen_black, 2}, 50, anchor});
    const Extent extent = extent_of(raster);
    CHECK(extent.left == Approx(left).margin(1.6));
    CHECK(extent.right == Approx(left + width).margin(1.6));
    CHECK(extent.top == Approx(60 - 36).margin(1.6));
    CHECK(extent.bottom == Approx(60).margin(1.6));
  }
}

TEST_CASE("a slanted line reaches from one place to the other, as wide as its pen, and a disc is round") {
  Raster line({0, 0, 40, 40}, 1, paper_white);
  line.line({30, 10}, {10, 20}, {pen_black, 4});
  CHECK(line.row(15)[20] == pen_black);
  CHECK(line.row(16)[19] == pen_black);
  CHECK(line.row(13)[20] == pen_black);
  CHECK(line.row(18)[20] == paper_white);
  CHECK(line.row(11)[20] == paper_white);
  const Extent extent = extent_of(line);
  CHECK(extent.left == Approx(8).margin(1));
  CHECK(extent.right == Approx(32).margin(1));
  CHECK(extent.top == Approx(8).margin(1));
  CHECK(extent.bottom == Approx(22).margin(1));
  Raster disc({0, 0, 40, 40}, 1, paper_white);
  disc.disc({20, 20}, 8, pen_black);
  for (const auto& [x, y] : {std::pair{20U, 13U}, {20U, 26U}, {13U, 20U}, {26U, 20U}, {24U, 24U}}) {
    CHECK(disc.row(y)[x] == pen_black);
  }
  CHECK(disc.row(26)[26] == paper_white);
  CHECK(disc.row(20)[30] == paper_white);
}
