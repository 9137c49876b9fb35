#include "lib/chart/png.hpp"

#include <zlib.h>

#include <new>
#include <string>

#include "lib/base/crc32.hpp"
#include "lib/base/text.hpp"
#include "lib/chart/drawing.hpp"
#include "lib/chart/raster.hpp"

namespace tare::chart {
namespace {

constexpr double pixels_a_unit = 2;
constexpr Colour white{0xff, 0xff, 0xff}, ink{0x1f, 0x23, 0x28}, faint{0x8c, 0x95, 0x9f}, grid{0xe4, 0xe7, 0xeb},
    curve_line{0x09, 0x69, 0xda}, bad{0xcf, 0x22, 0x2e}, good{0x1a, 0x7f, 0x37};
constexpr double letter_size = 13, title_size = 15, exponent_size = 10;
constexpr double letter_width = 1.1, title_width = 1.7;

void draw_axes(Raster& raster, const Drawing& drawing) {
  const Box& plot = drawing.plot;
  for (const double y : drawing.grid) raster.line({plot.x, y}, {plot.x + plot.width, y}, {grid, 1});
  for (const OctaveLabel& label : drawing.octaves) {
    const double raised = label.exponent.empty() ? 0 : width_of(label.exponent, exponent_size) + 2;
    raster.text(label.base, {label.place.x - raised, label.place.y}, {{ink, letter_width}, letter_size, Anchor::end});
    raster.text(label.exponent, {label.place.x, label.place.y - 5}, {{ink, letter_width}, exponent_size, Anchor::end});
  }
  for (const StepLabel& label : drawing.step_labels) {
    raster.text(label.text, {label.x, drawing.step_labels_y}, {{ink, letter_width}, letter_size, Anchor::middle});
  }
}

void draw_curve(Raster& raster, const Drawing& drawing) {
  const Box& plot = drawing.plot;
  const auto at = [&](double x, double y) { return Place{plot.x + x, plot.y + y}; };
  for (const double x : drawing.events) {
    raster.line(at(x, plot.height), at(x, plot.height - drawing.event_height), {bad, 1.5});
  }
  constexpr Pen pen{curve_line, 2};
  for (std::size_t i = 0; i < drawing.corners.size(); ++i) {
    const auto [x, y] = drawing.corners[i];
    const bool is_last = i + 1 == drawing.corners.size();
    const double end = is_last ? drawing.end.value_or(x) : drawing.corners[i + 1].x;
    raster.line(at(x, y), at(end, y), pen);
    if (!is_last) raster.line(at(end, y), at(end, drawing.corners[i + 1].y), pen);
  }
}

Raster raster_of(const Drawing& drawing) {
  Raster raster(drawing.paper, pixels_a_unit, white);
  raster.text(escaped(drawing.title), drawing.title_place, {{ink, title_width}, title_size});
  draw_axes(raster, drawing);
  draw_curve(raster, drawing);
  for (const DrawnMark& mark : drawing.marks) {
    raster.disc(mark.place, 5.75, white);
    raster.disc(mark.place, 4.25, mark.is_bad ? bad : mark.is_good ? good : faint);
  }
  raster.text(drawing.legend, drawing.legend_place, {{faint, letter_width}, letter_size});
  raster.text(escaped(drawing.unit), drawing.unit_place, {{faint, letter_width}, letter_size, Anchor::end});
  return raster;
}

// ---- the file: PNG (Third Edition), 5 to 12

void put_number(Bytes& file, std::uint32_t number) {
  const std::size_t at = file.size();
  file.resize(at + sizeof number);
  store(file.data() + at, number, std::endian::big);
}

void put_chunk(Bytes& file, std::string_view type, ByteView content) {
  put_number(file, static_cast<std::uint32_t>(content.size()));
  const std::size_t begin = file.size();
  const ByteView name = as_bytes(type);
  file.insert(file.end(), name.begin(), name.end());
  file.insert(file.end(), content.begin(), content.end());
  put_number(file, crc32(ByteView(file).subspan(begin)));
}

Bytes header_of(const Raster& raster) {
  Bytes header;
  put_number(header, raster.columns());
  put_number(header, raster.rows());
  constexpr std::byte bits{8}, red_green_blue{2}, none{0};
  header.insert(header.end(), {bits, red_green_blue, none, none, none});
  return header;
}

/// Rows that are like the one above, as most are, become zeros.
Bytes rows_of(const Raster& raster) {
  constexpr std::byte difference_to_above{2};
  Bytes rows;
  std::vector<std::uint8_t> above(std::size_t{raster.columns()} * 3);
  for (std::uint32_t y = 0; y < raster.rows(); ++y) {
    rows.push_back(difference_to_above);
    std::size_t i = 0;
    for (const Colour& pixel : raster.row(y)) {
      for (const std::uint8_t value : {pixel.red, pixel.green, pixel.blue}) {
        rows.push_back(static_cast<std::byte>(value - above[i]));
        above[i++] = value;
      }
    }
  }
  return rows;
}

Bytes deflated(ByteView plain) {
  uLongf size = compressBound(static_cast<uLong>(plain.size()));
  Bytes packed(size);
  if (compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(plain.data()),
               static_cast<uLong>(plain.size())) != Z_OK) {
    throw std::bad_alloc();
  }
  packed.resize(size);
  return packed;
}

}  // namespace

Bytes png_of(const Curve& curve) {
  const Raster raster = raster_of(drawing_of(curve));
  constexpr std::string_view signature("\x89PNG\r\n\x1a\n", 8);
  Bytes file(as_bytes(signature).begin(), as_bytes(signature).end());
  put_chunk(file, "IHDR", header_of(raster));
  put_chunk(file, "IDAT", deflated(rows_of(raster)));
  put_chunk(file, "IEND", {});
  return file;
}

}  // namespace tare::chart
