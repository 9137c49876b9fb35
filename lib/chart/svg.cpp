#include "lib/chart/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/base/text.hpp"

namespace tare::chart {
namespace {

constexpr double width = 960, height = 400;
constexpr double left = 64, right = 16, top = 40, bottom = 56;
constexpr double plot_width = width - left - right, plot_height = height - top - bottom;
constexpr std::size_t most_points = 6000;
constexpr std::size_t most_events = 3000;

constexpr std::string_view style = R"(<style>
.tare{--paper:#fff;--ink:#1f2328;--faint:#8c959f;--grid:#e4e7eb;--line:#0969da;--bad:#cf222e;--good:#1a7f37;
background:var(--paper);font:13px system-ui,sans-serif}
@media(prefers-color-scheme:dark){.tare{--paper:#0d1117;--ink:#e6edf3;--faint:#8b949e;--grid:#262c34;--line:#58a6ff;
--bad:#ff7b72;--good:#56d364}}
.tare text{fill:var(--ink)}.tare .faint{fill:var(--faint)}.tare .title{font-size:15px;font-weight:600}
.tare .grid{stroke:var(--grid)}.tare .paper{fill:var(--paper)}
.tare .curve{fill:none;stroke:var(--line);stroke-width:2;vector-effect:non-scaling-stroke;stroke-linejoin:round}
.tare .event{stroke:var(--bad);stroke-width:1.5;vector-effect:non-scaling-stroke}
.tare .mark{fill:var(--faint);stroke:var(--paper);stroke-width:1.5}.tare .good{fill:var(--good)}.tare .bad{fill:var(--bad)}
</style>)";

double x_of(double x, const Frame& frame) {
  return (x - frame.left) / (frame.right - frame.left) * plot_width;
}

/// Lines at either end are drawn whole.
constexpr double margin = 4;

double y_of_octave(double at, const Frame& frame) {
  return margin + (frame.top - at) / (frame.top - frame.bottom) * (plot_height - 2 * margin);
}

double y_of(double value, const Frame& frame) {
  return y_of_octave(octave(value, frame), frame);
}

std::string path_of(const Curve& curve, const Frame& frame) {
  std::string path;
  for (const Point& point : thinned(curve.points, most_points)) {
    path += path.empty() ? fmt::format("M{:.2f} {:.2f}", x_of(point.x, frame), y_of(point.value, frame))
                         : fmt::format("H{:.2f}V{:.2f}", x_of(point.x, frame), y_of(point.value, frame));
  }
  if (!path.empty() && curve.last_x) path += fmt::format("H{:.2f}", x_of(*curve.last_x, frame));
  return path;
}

/// Ticks at the foot of the plot; of very many those that would fall on each other are one.
std::string events_of(const Curve& curve, const Frame& frame) {
  std::string path;
  double last = -1;
  const double least = plot_width / static_cast<double>(most_events);
  for (const double x : curve.events) {
    const double at = x_of(x, frame);
    if (at - last < least) continue;
    path += fmt::format("M{:.2f} {:.2f}v-9", at, plot_height);
    last = at;
  }
  return path;
}

std::string marks_of(const Curve& curve, const Frame& frame) {
  std::string marks;
  for (const Mark& mark : curve.marks) {
    marks += fmt::format(R"(<circle class="mark{}" cx="{:.2f}" cy="{:.2f}" r="5"><title>{}</title></circle>)"
                         "\n",
                         mark.is_bad    ? " bad"
                         : mark.is_good ? " good"
                                        : "",
                         left + x_of(mark.x, frame), top + y_of(mark.value, frame), xml_escaped(mark.label));
  }
  return marks;
}

std::string axes_of(const Curve& curve, const Frame& frame) {
  std::string axes;
  for (const double tick : octave_ticks(frame, 10)) {
    const double y = top + y_of_octave(tick, frame);
    axes += fmt::format(R"(<line class="grid" x1="{}" x2="{}" y1="{:.2f}" y2="{:.2f}"/>)", left, width - right, y, y);
    const std::string label = tick == 0 ? "1" : fmt::format(R"(2<tspan dy="-5" font-size="10">{:.0f}</tspan>)", tick);
    axes += fmt::format(R"(<text x="{}" y="{:.2f}" text-anchor="end">{}</text>)"
                        "\n",
                        left - 8, y + 4, label);
  }
  for (const double tick : x_ticks(frame, 8)) {
    axes += fmt::format(R"(<text class="x" x="{:.2f}" y="{}" text-anchor="middle">{}</text>)"
                        "\n",
                        left + x_of(tick, frame), height - bottom + 18, step_text(tick));
  }
  return axes + fmt::format(R"(<text class="faint" x="{}" y="{}" text-anchor="end">{}</text>)"
                            "\n",
                            width - right, height - bottom + 36, xml_escaped(curve.unit));
}

std::string legend_of(const Curve& curve) {
  const std::string overflows = fmt::format("{} overflow{}", curve.events.size(), curve.events.size() == 1 ? "" : "s");
  const std::string marks = curve.marks.empty() ? "" : fmt::format(", {} checkpoints", curve.marks.size());
  return fmt::format(R"(<text class="faint" x="{}" y="{}">loss scale; {} (red){}</text>)"
                     "\n",
                     left, height - bottom + 36, overflows, marks);
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string safe;
  for (const char letter : escaped(text)) {
    switch (letter) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += letter;
    }
  }
  return safe;
}

std::string svg_of(const Curve& curve) {
  const Frame frame = frame_of(curve);
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" class="tare" viewBox="0 0 {} {}" role="img" aria-label="{}">)"
      "\n",
      width, height, xml_escaped(curve.title));
  svg += style;
  svg += fmt::format("\n<rect class=\"paper\" width=\"{}\" height=\"{}\"/>\n", width, height);
  svg += fmt::format("<text class=\"title\" x=\"{}\" y=\"24\">{}</text>\n", left, xml_escaped(curve.title));
  svg += fmt::format("<g class=\"axes\">{}</g>\n", axes_of(curve, frame));
  svg += fmt::format(R"(<svg class="plot" x="{}" y="{}" width="{}" height="{}" viewBox="0 0 {} {}" )"
                     R"(preserveAspectRatio="none">)"
                     "\n",
                     left, top, plot_width, plot_height, plot_width, plot_height);
  svg += fmt::format("<path class=\"event\" d=\"{}\"/>\n<path class=\"curve\" d=\"{}\"/>\n</svg>\n",
                     events_of(curve, frame), path_of(curve, frame));
  svg += fmt::format("<g class=\"marks\">{}</g>\n{}</svg>\n", marks_of(curve, frame), legend_of(curve));
  return svg;
}

}  // namespace tare::chart
