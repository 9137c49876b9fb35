// Curves: as wide as asked for, with every extreme in them, and safe whatever names they carry.
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>

#include "lib/chart/letters.hpp"
#include "lib/chart/png.hpp"
#include "lib/chart/raster.hpp"
#include "lib/chart/svg.hpp"
#include "lib/chart/terminal.hpp"
#include "tests/catch.hpp"

using namespace tare::chart;

namespace {

Curve collapse() {
  Curve curve;
  curve.title = "run";
  curve.points = {{1, 65536}, {400, 32768}};
  for (int i = 0; i < 15; ++i) curve.points.push_back({900.0 + i, 16384 / std::exp2(i)});
  for (int i = 0; i < 15; ++i) curve.events.push_back(900.0 + i);
  curve.marks = {{500, 32768, "step500, the last healthy one", true, false}, {1000, 1, "step1000", false, true}};
  curve.last_x = 1000;
  return curve;
}

std::size_t letters(const std::string& row) {
  return static_cast<std::size_t>(std::ranges::count_if(row, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

}  // namespace

TEST_CASE("a picture in letters is no wider than the terminal, with braille or without") {
  for (const std::size_t columns : {40UL, 80UL, 200UL}) {
    for (const bool is_ascii : {true, false}) {
      const Picture picture = draw_in_letters(collapse(), {columns, 10, is_ascii});
      CHECK(picture.curve.size() == 10);
      for (const std::string& row : picture.curve) CHECK(letters(row) <= columns);
      for (const std::string& row : {picture.events, picture.marks, picture.steps}) CHECK(letters(row) <= columns);
      const bool has_others =
          std::ranges::any_of(picture.curve, [](const std::string& row) { return letters(row) != row.size(); });
      CHECK(has_others != is_ascii);
    }
  }
}

TEST_CASE("a picture in letters starts at the top, ends at the bottom, and marks overflows and checkpoints") {
  const Picture picture = draw_in_letters(collapse(), {60, 9, true});
  CHECK(picture.curve.front().starts_with("   2^16|*"));
  CHECK(picture.curve.back().starts_with("      1|"));
  CHECK(picture.curve.back().ends_with("*"));
  CHECK(picture.events.find('x') > 50);
  CHECK(picture.marks.find('o') < picture.marks.find('!'));
  CHECK(picture.steps.find("1,000") != std::string::npos);
}

TEST_CASE("a fall and a growth are upright lines: no row between the scales is without them") {
  for (const auto& [before, after] : {std::pair{256.0, 1.0}, std::pair{1.0, 256.0}}) {
    Curve step;
    step.points = {{0, before}, {10, after}};
    const Picture picture = draw_in_letters(step, {40, 9, true});
    REQUIRE(picture.curve.size() == 9);
    for (const std::string& row : picture.curve) {
      INFO(before << " to " << after << ": " << row);
      CHECK(row.ends_with('*'));
    }
  }
}

TEST_CASE("an empty curve, a flat one, and scales that no axis has are drawn") {
  CHECK(draw_in_letters({}, {80, 8, true}).curve.size() == 8);
  Curve flat;
  flat.points = {{5, 1}};
  CHECK_FALSE(svg_of(flat).empty());
  Curve odd;
  odd.points = {{1, 1024}, {2, 0}, {3, INFINITY}, {4, NAN}, {5, 5e-324}, {6, -1}};
  const std::string svg = svg_of(odd);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
  CHECK(draw_in_letters(odd, {80, 8, false}).curve.size() == 8);
}

TEST_CASE("of a million points a few thousand are drawn, and no extreme is lost") {
  std::vector<Point> points;
  for (int i = 0; i < 1'000'000; ++i) points.push_back({static_cast<double>(i), i == 777'777 ? 1.0 : 4096.0});
  const auto kept = thinned(points, 4000);
  CHECK(kept.size() <= 4400);
  CHECK(std::ranges::any_of(kept, [](const Point& point) { return point.value == 1; }));
  CHECK(kept.front().x == 0);
  CHECK(kept.back().x == 999'999);
}

TEST_CASE("axes name powers of two and round steps") {
  const Frame frame{0, 1000, 0, 16};
  CHECK(octave_ticks(frame, 8) == std::vector<double>{0, 2, 4, 6, 8, 10, 12, 14, 16});
  CHECK(x_ticks(frame, 5) == std::vector<double>{0, 200, 400, 600, 800, 1000});
  CHECK(step_text(1234567) == "1,234,567");
  CHECK(octave_text(16) == "2^16");
}

TEST_CASE("names end neither tags nor scripts") {
  Curve curve = collapse();
  curve.title = "<script>alert(1)</script>\"'&";
  curve.marks.push_back({600, 1024, "</script><script>alert(2)</script>", false, false});
  const std::string page = html_of(curve);
  CHECK(page.find("<script>alert") == std::string::npos);
  CHECK(page.find("alert(1)") != std::string::npos);
  const std::regex ends("</script>");
  CHECK(std::distance(std::sregex_iterator(page.begin(), page.end(), ends), {}) == 2);
}

TEST_CASE("a page asks no network: the only address in it is the name of SVG") {
  const std::string page = html_of(collapse());
  const std::regex address("https?://[^\"'\\s]*");
  for (std::sregex_iterator at(page.begin(), page.end(), address), last; at != last; ++at) {
    CHECK(at->str() == "http://www.w3.org/2000/svg");
  }
  CHECK(page.find("prefers-color-scheme:dark") != std::string::npos);
}

TEST_CASE("each letter of printable ASCII has strokes of its own, on the letters' grid; others are a box") {
  std::vector<std::string> seen;
  for (char letter = '!'; letter <= '~'; ++letter) {
    INFO(letter);
    const std::string strokes(strokes_of(letter));
    CHECK(strokes != strokes_of('\n'));
    const bool is_round = letter == '0' || letter == 'O';
    CHECK((is_round || std::ranges::find(seen, strokes) == seen.end() || letter == 'l'));
    CHECK(std::regex_match(strokes, std::regex("([0-4][0-9])+( ([0-4][0-9])+)*")));
    seen.push_back(strokes);
  }
  CHECK(strokes_of(' ').empty());
  CHECK(strokes_of('\xC3') == strokes_of('\n'));
}

TEST_CASE("a line's pixels have its colour, those beside it the paper's, and its edge something between") {
  const Colour white{255, 255, 255}, black{0, 0, 0};
  Raster raster({0, 0, 20, 10}, 2, white);
  raster.line({5, 5}, {15, 5}, {black, 1.5});
  CHECK(raster.columns() == 40);
  CHECK(raster.rows() == 20);
  CHECK(raster.row(10)[20] == black);
  CHECK(raster.row(13)[20] == white);
  const Colour edge = raster.row(11)[20];
  CHECK(edge.red > 0);
  CHECK(edge.red < 255);
  CHECK(raster.row(10)[2] == white);
}

TEST_CASE("what lies outside a picture is cut off") {
  Raster raster({0, 0, 10, 10}, 1, {255, 255, 255});
  raster.line({-100, 5}, {100, 5}, {{0, 0, 0}, 2});
  raster.disc({50, 50}, 3, {0, 0, 0});
  raster.text("far longer than the picture is wide, and it stands above it", {2, -4}, {{{0, 0, 0}, 1}, 13});
  CHECK(raster.row(5)[0] == Colour{0, 0, 0});
  CHECK(raster.row(5)[9] == Colour{0, 0, 0});
  CHECK(raster.row(0)[5] == Colour{255, 255, 255});
}

TEST_CASE("scales that no axis has, and hostile titles, make a PNG") {
  Curve odd = collapse();
  odd.title = std::string("\x1b[2J\xff\xfe \0 ", 9);
  odd.points.insert(odd.points.end(), {{1001, 0}, {1002, INFINITY}, {1003, NAN}, {1004, -1}});
  const tare::Bytes png = png_of(odd);
  REQUIRE(png.size() > 1000);
  CHECK(png[1] == std::byte{'P'});
  CHECK(png_of({}).size() > 100);
}

TEST_CASE(
    "a page holds its numbers as JSON: every point, overflow and checkpoint of a short run, and some of a long one") {
  const auto data = [](const Curve& curve) {
    const std::string page = html_of(curve);
    const std::size_t begin = page.find('>', page.find("<script id=\"data\"")) + 1;
    return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  };
  Curve curve = collapse();
  curve.unit = "\"sample\"";
  curve.points.push_back({950, std::numeric_limits<double>::quiet_NaN()});
  curve.marks[0].label = "</script>, \"quoted\", and more";
  const auto whole = data(curve);
  CHECK(whole["unit"] == curve.unit);
  CHECK(whole["points"].size() == curve.points.size());
  CHECK(whole["points"][1] == nlohmann::json({400, 32768}));
  CHECK(whole["points"].back()[1] == "nan");
  CHECK(whole["events"] == nlohmann::json(curve.events));
  REQUIRE(whole["marks"].size() == 2);
  CHECK(whole["marks"][0]["x"] == 500);
  CHECK(whole["marks"][0]["label"] == curve.marks[0].label);
  CHECK(whole["marks"][1]["label"] == "step1000");
  for (int i = 0; i < 1'000'000; ++i) curve.events.push_back(1000.0 + i);
  const auto events = data(curve)["events"];
  CHECK(events.size() > 1000);
  CHECK(events.size() < 4000);
  CHECK(events.front() == 900);
}
