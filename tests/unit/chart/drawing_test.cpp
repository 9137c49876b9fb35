// Where a picture's lines, letters and marks stand, and what its axes say.
#include "lib/chart/drawing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/chart/svg.hpp"
#include "lib/chart/terminal.hpp"
#include "tests/catch.hpp"

using namespace tare::chart;

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// Two checkpoints on the way from 2^4 down to 1, the last overflow among them.
Curve staircase() {
  Curve curve;
  curve.title = "run";
  curve.points = {{0, 16}, {50, 4}, {100, 1}};
  curve.events = {50, 100};
  curve.marks = {{25, 16, "step25", true, false}, {75, 4, "step75", false, false}, {100, 1, "step100", false, true}};
  curve.last_x = 200;
  return curve;
}

using Ticks = std::vector<double>;
using Rows = std::vector<std::string>;

/// Left, right, bottom, top.
using Edges = std::vector<double>;

Edges edges(const Frame& frame) {
  return {frame.left, frame.right, frame.bottom, frame.top};
}

}  // namespace

TEST_CASE("a frame holds all that is drawn, from a power of two below it to one above, and is never flat") {
  const auto frame_around = [](const std::vector<Point>& points) {
    Curve curve;
    curve.points = points;
    return frame_of(curve);
  };
  CHECK(edges(frame_around({})) == Edges{0, 1, 0, 1});
  CHECK(edges(frame_around({{5, 1}})) == Edges{5, 6, -1, 0});
  CHECK(edges(frame_around({{1, 3}, {9, 40}})) == Edges{1, 9, 1, 6});
  CHECK(edges(frame_around({{0, 65536}, {10, 0}})) == Edges{0, 10, 15, 16});
  CHECK(edges(frame_around({{0, 65536}, {10, no_number}})) == Edges{0, 10, 15, 16});
  CHECK(edges(frame_around({{0, 4}, {10, HUGE_VAL}, {20, 16}})) == Edges{0, 20, 2, 4});
  CHECK(edges(frame_around({{0, 0}})) == Edges{0, 1, -1, 1});
  CHECK(edges(frame_around({{0, 0x1p-1074}, {1, 1}})) == Edges{0, 1, -150, 0});
  Curve others;
  others.points = {{10, 4}, {20, 8}};
  others.events = {5};
  others.marks = {{15, 64, "", false, false}};
  others.last_x = 30;
  CHECK(edges(frame_of(others)) == Edges{5, 30, 2, 6});
}

TEST_CASE("a scale that no axis has is drawn at the frame's edge") {
  const Frame frame{0, 1, -3, 16};
  CHECK(octave(1024, frame) == 10);
  CHECK(octave(0x1p20, frame) == 16);
  CHECK(octave(0x1p-20, frame) == -3);
  CHECK(octave(HUGE_VAL, frame) == 16);
  for (const double none : {0.0, -1.0, no_number}) CHECK(octave(none, frame) == -3);
}

TEST_CASE("ticks stand at round steps and at every so many powers of two, no more than there is room for") {
  CHECK(x_ticks({3, 17, 0, 1}, 5) == Ticks{5, 10, 15});
  CHECK(x_ticks({0, 100, 0, 1}, 8) == Ticks{0, 20, 40, 60, 80, 100});
  CHECK(x_ticks({0, 100, 0, 1}, 10) == Ticks{0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100});
  CHECK(x_ticks({0, 3, 0, 1}, 8) == Ticks{0, 1, 2, 3});
  CHECK(x_ticks({0, 70, 0, 1}, 1) == Ticks{0});
  CHECK(x_ticks({0, 450, 0, 1}, 1) == Ticks{0});
  CHECK(x_ticks({0, 300, 0, 1}, 2) == Ticks{0, 200});
  CHECK(octave_ticks({0, 1, -3, 5}, 4) == Ticks{-2, 0, 2, 4});
  CHECK(octave_ticks({0, 1, -3, 5}, 8) == Ticks{-3, -2, -1, 0, 1, 2, 3, 4, 5});
}

TEST_CASE("steps are told with commas between thousands, and powers of two by their exponents") {
  CHECK(step_text(0) == "0");
  CHECK(step_text(999) == "999");
  CHECK(step_text(1000) == "1,000");
  CHECK(step_text(-1000) == "-1,000");
  CHECK(step_text(-999) == "-999");
  CHECK(octave_text(0) == "1");
  CHECK(octave_text(1) == "2^1");
  CHECK(octave_text(-24) == "2^-24");
}

TEST_CASE("of a long curve each stretch keeps its first and last point and both extremes, in their order") {
  std::vector<Point> points;
  for (int i = 0; i < 1000; ++i) points.push_back({static_cast<double>(i), i == 500 ? 4096.0 : i == 507 ? 1.0 : 64.0});
  const auto kept = thinned(points, 100);
  CHECK(kept.size() <= 100);
  CHECK(std::ranges::is_sorted(kept, {}, &Point::x));
  for (const double x : {0., 39., 40., 480., 500., 507., 519., 960., 999.}) {
    INFO(x);
    CHECK(std::ranges::count(kept, x, &Point::x) == 1);
  }
  points.resize(100);
  CHECK(thinned(points, 100).size() == 100);
  CHECK(thinned(points, 99).size() < 99);
}

TEST_CASE("a picture in letters shows each fall, overflow and checkpoint above the step where it was") {
  const Picture picture = draw_in_letters(staircase(), {28, 5, true});
  CHECK(picture.curve == Rows{"    2^4|******", "    2^3|     *", "    2^2|     ******", "    2^1|          *",
                              "      1|          **********"});
  CHECK(picture.events == "             x    x");
  CHECK(picture.marks == "          o    |  !");
  CHECK(picture.steps == "        0                200");
}

TEST_CASE("a row of steps names what it counts where there is room, and no name runs into the next") {
  Curve curve = staircase();
  curve.unit = "sample";
  CHECK(draw_in_letters(curve, {80, 5, true}).steps ==
        "        0                 50                100              150             200");
  curve.last_x = 249;
  CHECK(draw_in_letters(curve, {80, 5, true}).steps ==
        "        0             50             100           150           200  sample");
  CHECK(draw_in_letters(curve, {8, 5, true}).curve.front().size() <= 20);  // of a terminal that is none
}

TEST_CASE("no good checkpoint and no overflow hides a bad checkpoint at the same place") {
  Curve curve = staircase();
  curve.marks = {{100, 1, "bad", false, true}, {100.1, 1, "good", true, false}, {150, 1, "", false, false}};
  CHECK(draw_in_letters(curve, {28, 5, true}).marks == "                  !   |");
}

TEST_CASE("braille has two columns and four rows of dots in a letter") {
  Curve curve;
  curve.points = {{0, 16}, {50, 1}};
  curve.last_x = 100;
  CHECK(draw_in_letters(curve, {20, 2, false}).curve == Rows{"    2^4│⠉⠉⠉⠉⠉⠉⡇", "      1│      ⣇⣀⣀⣀⣀⣀"});
}

TEST_CASE("a curve is drawn from the plot's upper left, where its scale is greatest, to where the run ended") {
  const Drawing drawing = drawing_of(staircase());
  const auto is_at = [](const Place& place, double x, double y) {
    return place.x == Approx(x).margin(1e-9) && place.y == Approx(y).margin(1e-9);
  };
  const double width = drawing.plot.width, height = drawing.plot.height;
  REQUIRE(drawing.corners.size() == 3);
  CHECK(is_at(drawing.corners[0], 0, 4));
  CHECK(is_at(drawing.corners[1], width / 4, height / 2));
  CHECK(is_at(drawing.corners[2], width / 2, height - 4));
  CHECK(drawing.end == Approx(width));
  REQUIRE(drawing.marks.size() == 3);
  CHECK(is_at(drawing.marks[2].place, drawing.plot.x + width / 2, drawing.plot.y + height - 4));
  CHECK(drawing.marks[0].is_good);
  CHECK(drawing.marks[2].is_bad);
  CHECK(drawing.events.size() == 2);
  CHECK(drawing.events.back() == Approx(width / 2));
  CHECK(drawing.plot.x + width < drawing.paper.width);
  CHECK(drawing.plot.y + height < drawing.step_labels_y);
  CHECK(drawing.step_labels_y < drawing.legend_place.y);
  CHECK(drawing.legend_place.y < drawing.paper.height);
  CHECK(drawing.legend_place.x == drawing.plot.x);
  CHECK(drawing.unit_place.x == drawing.plot.x + width);
}

TEST_CASE("a picture's axis names each power of two beside its line, and each step below its place") {
  const Drawing drawing = drawing_of(staircase());
  std::vector<std::string> names;
  for (const OctaveLabel& label : drawing.octaves) names.push_back(label.base + "^" + label.exponent);
  CHECK(names == std::vector<std::string>{"1^", "2^1", "2^2", "2^3", "2^4"});
  REQUIRE(drawing.grid.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(drawing.octaves[i].place.x < drawing.plot.x);
    CHECK(drawing.octaves[i].place.y == Approx(drawing.grid[i]).margin(6));
    CHECK(drawing.grid[i] == Approx(drawing.plot.y + 4 + (drawing.plot.height - 8) * (4 - static_cast<double>(i)) / 4));
  }
  REQUIRE(drawing.step_labels.size() == 5);
  CHECK(drawing.step_labels[1].text == "50");
  CHECK(drawing.step_labels[1].x == Approx(drawing.plot.x + drawing.plot.width / 4));
  CHECK(drawing.step_labels[4].x == Approx(drawing.plot.x + drawing.plot.width));
}

TEST_CASE("a legend counts what it tells of, one of each by its singular") {
  Curve curve = staircase();
  CHECK(drawing_of(curve).legend == "loss scale; 2 overflows (red), 3 checkpoints");
  curve.events.resize(1);
  curve.marks.resize(1);
  CHECK(drawing_of(curve).legend == "loss scale; 1 overflow (red), 1 checkpoint");
  curve.marks.clear();
  curve.events.clear();
  CHECK(drawing_of(curve).legend == "loss scale; 0 overflows (red)");
}

TEST_CASE("overflows so near that their ticks would fall on each other are drawn as one, others each") {
  Curve curve;
  curve.points = {{0, 4}, {3000, 1}};
  curve.events = {10, 10.5, 11.1, 12.5};
  CHECK(drawing_of(curve).events.size() == 3);
}

TEST_CASE("an SVG draws the curve to its end, a tick for each overflow, and each checkpoint by what it is worth") {
  const std::string svg = svg_of(staircase());
  for (const char* part :
       {R"(class="curve" d="M0.00 4.00H214.00V152.00H428.00V300.00H856.00")",
        R"(class="event" d="M214.00 304.00v-9M428.00 304.00v-9")",
        R"(<circle class="mark good" cx="171.00" cy="44.00" r="5"><title>step25</title></circle>)",
        R"(<circle class="mark" cx="385.00" cy="192.00" r="5"><title>step75</title></circle>)",
        R"(<circle class="mark bad" cx="492.00" cy="340.00" r="5"><title>step100</title></circle>)",
        R"(text-anchor="end">1</text>)", R"(text-anchor="end">2<tspan dy="-5" font-size="10">4</tspan></text>)",
        R"(text-anchor="middle">150</text>)", R"(text-anchor="end">step</text>)", "3 checkpoints</text>", ">run</text>",
        R"(aria-label="run")", R"(<line class="grid" x1="64" x2="920" y1="44.00" y2="44.00"/>)"}) {
    INFO(part);
    CHECK(svg.find(part) != std::string::npos);
  }
}
