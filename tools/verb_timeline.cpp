#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/base/error.hpp"
#include "lib/chart/png.hpp"
#include "lib/chart/svg.hpp"
#include "lib/codec/new_file.hpp"
#include "lib/report/health.hpp"
#include "tools/network.hpp"
#include "tools/network_options.hpp"
#include "tools/open.hpp"
#include "tools/output_file.hpp"
#include "tools/render_health.hpp"
#include "tools/tell_made.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

constexpr std::size_t usual_columns = 80;
constexpr std::size_t most_columns = 10'000;

struct TimelineVerbOptions {
  std::vector<std::string> paths;
  std::string tag, svg, html, png;
  std::size_t width = 0;
  bool json = false;
  bool ascii = false;
  bool force = false;
};

/// As the terminal has them; where there is none, COLUMNS, or 80.
std::size_t terminal_columns() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const long given = columns == nullptr ? 0 : std::strtol(columns, nullptr, 10);
  return given > 0 && given <= static_cast<long>(most_columns) ? static_cast<std::size_t>(given) : usual_columns;
}

/// Whether the locale's letters are UTF-8: braille is none of the others'.
bool has_braille() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string locale = value;
    std::ranges::transform(locale, locale.begin(), [](unsigned char letter) { return std::tolower(letter); });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

bool has_pictures(const TimelineVerbOptions& options) {
  return !options.svg.empty() || !options.html.empty() || !options.png.empty();
}

void write_pictures(const TimelineVerbOptions& options, const chart::Curve& curve) {
  if (!options.svg.empty()) write_whole_file(options.svg, as_bytes(chart::svg_of(curve)));
  if (!options.html.empty()) write_whole_file(options.html, as_bytes(chart::html_of(curve)));
  if (!options.png.empty()) write_whole_file(options.png, chart::png_of(curve));
}

int timeline(const Terminal& terminal, const TimelineVerbOptions& options) {
  if (options.width > most_columns) {
    throw Error(Status::invalid_argument,
                fmt::format("--width {}: at most {} columns are drawn", options.width, most_columns));
  }
  const std::vector<std::string> paths = reached(options.paths);
  for (const std::string* path : {&options.svg, &options.html, &options.png}) {
    if (!path->empty()) require_replaceable(terminal, *path, options.force);
  }
  TraceOptions reading;
  reading.tag = options.tag;
  reading.files = &one_storage_of(paths);
  const Trace trace = read_trace(paths, reading);
  const std::vector<Pending> unfinished = unfinished_of(paths, trace);
  tell_unfinished(terminal, unfinished);
  const Timeline found = timeline_of(trace, paths);
  write_pictures(options, found.curve);
  const std::size_t columns = options.width > 0 ? options.width : terminal_columns();
  const auto answer = [&] {
    return options.json ? timeline_json(found, unfinished)
                        : render_timeline(terminal, found, {columns, 12, options.ascii || !has_braille()});
  };
  if (has_pictures(options)) return tell_made(terminal, answer);
  terminal.answer(answer());
  return exit_done;
}

}  // namespace

Verb timeline_verb() {
  auto options = std::make_shared<TimelineVerbOptions>();
  return {
      .name = "timeline",
      .purpose = "The scale of a run as a curve, with its overflows and checkpoints",
      .options = joined({{{"PATH", &options->paths, "Run folders, logs, event files: of one run", Presence::required},
                          {"--json", &options->json, "Answer in JSON (schema tare.timeline/1)"},
                          {"--svg", &options->svg, "Write the curve to a file as SVG"},
                          {"--html", &options->html, "Write it as a page with zoom, which needs no network"},
                          {"--png", &options->png, "Write it as PNG, of 1920 x 800 pixels, on white"},
                          {"--force", &options->force, "Replace these files"},
                          {"--width", &options->width, "Columns of the picture, instead of the terminal's"},
                          {"--ascii", &options->ascii, "Draw without braille"},
                          {"--tag", &options->tag, "The series that is the scale, where there are several"}},
                         network_options()}),
      .closing_words =
          "Examples:\n"
          "  tare timeline run\n"
          "  tare timeline train.log --html scale.html",
      .run = [options](const Terminal& t) { return timeline(t, *options); },
  };
}
