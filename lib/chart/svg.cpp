#include "lib/chart/svg.hpp"

#include <fmt/format.h>

#include "lib/base/text.hpp"
#include "lib/chart/drawing.hpp"

namespace tare::chart {
namespace {

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

std::string path_of(const Drawing& drawing) {
  std::string path;
  for (const Place& corner : drawing.corners) {
    path += path.empty() ? fmt::format("M{:.2f} {:.2f}", corner.x, corner.y)
                         : fmt::format("H{:.2f}V{:.2f}", corner.x, corner.y);
  }
  if (!path.empty() && drawing.end) path += fmt::format("H{:.2f}", *drawing.end);
  return path;
}

std::string events_of(const Drawing& drawing) {
  std::string path;
  for (const double x : drawing.events) {
    path += fmt::format("M{:.2f} {:.2f}v-{}", x, drawing.plot.height, drawing.event_height);
  }
  return path;
}

std::string marks_of(const Drawing& drawing) {
  std::string marks;
  for (const DrawnMark& mark : drawing.marks) {
    marks += fmt::format(R"(<circle class="mark{}" cx="{:.2f}" cy="{:.2f}" r="5"><title>{}</title></circle>)"
                         "\n",
                         mark.is_bad    ? " bad"
                         : mark.is_good ? " good"
                                        : "",
                         mark.place.x, mark.place.y, xml_escaped(mark.label));
  }
  return marks;
}

std::string axes_of(const Drawing& drawing) {
  std::string axes;
  const Box& plot = drawing.plot;
  for (const double y : drawing.grid) {
    axes += fmt::format(R"(<line class="grid" x1="{}" x2="{}" y1="{:.2f}" y2="{:.2f}"/>)", plot.x, plot.x + plot.width,
                        y, y);
  }
  for (const OctaveLabel& label : drawing.octaves) {
    const std::string raised =
        label.exponent.empty() ? "" : fmt::format(R"(<tspan dy="-5" font-size="10">{}</tspan>)", label.exponent);
    axes += fmt::format(R"(<text x="{}" y="{:.2f}" text-anchor="end">{}{}</text>)"
                        "\n",
                        label.place.x, label.place.y, label.base, raised);
  }
  for (const StepLabel& label : drawing.step_labels) {
    axes += fmt::format(R"(<text class="x" x="{:.2f}" y="{}" text-anchor="middle">{}</text>)"
                        "\n",
                        label.x, drawing.step_labels_y, label.text);
  }
  return axes + fmt::format(R"(<text class="faint" x="{}" y="{}" text-anchor="end">{}</text>)"
                            "\n",
                            drawing.unit_place.x, drawing.unit_place.y, xml_escaped(drawing.unit));
}

std::string legend_of(const Drawing& drawing) {
  return fmt::format(R"(<text class="faint" x="{}" y="{}">{}</text>)"
                     "\n",
                     drawing.legend_place.x, drawing.legend_place.y, xml_escaped(drawing.legend));
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
  const Drawing drawing = drawing_of(curve);
  const Box &paper = drawing.paper, &plot = drawing.plot;
  const std::string title = xml_escaped(drawing.title);
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" class="tare" viewBox="0 0 {} {}" role="img" aria-label="{}">)"
      "\n",
      paper.width, paper.height, title);
  svg += style;
  svg += fmt::format("\n<rect class=\"paper\" width=\"{}\" height=\"{}\"/>\n", paper.width, paper.height);
  svg += fmt::format("<text class=\"title\" x=\"{}\" y=\"{}\">{}</text>\n", drawing.title_place.x,
                     drawing.title_place.y, title);
  svg += fmt::format("<g class=\"axes\">{}</g>\n", axes_of(drawing));
  svg += fmt::format(R"(<svg class="plot" x="{}" y="{}" width="{}" height="{}" viewBox="0 0 {} {}" )"
                     R"(preserveAspectRatio="none">)"
                     "\n",
                     plot.x, plot.y, plot.width, plot.height, plot.width, plot.height);
  svg += fmt::format("<path class=\"event\" d=\"{}\"/>\n<path class=\"curve\" d=\"{}\"/>\n</svg>\n", events_of(drawing),
                     path_of(drawing));
  svg += fmt::format("<g class=\"marks\">{}</g>\n{}</svg>\n", marks_of(drawing), legend_of(drawing));
  return svg;
}

}  // namespace tare::chart
