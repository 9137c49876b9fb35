#include "tools/render_watch.hpp"

#include <fmt/format.h>

#include "lib/base/text.hpp"
#include "tools/render_health.hpp"

using namespace tare;

namespace {

using What = WatchEvent::What;

std::string count(std::uint64_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string scale_text(const Terminal& terminal, const WatchEvent& event) {
  std::string text = event.step ? fmt::format("step {}: ", *event.step) : std::string();
  if (event.from && event.to && *event.from != *event.to) {
    const Style style = *event.to < *event.from ? Style::warning : Style::good;
    text += fmt::format("scale {} -> {}", float_text(*event.from), terminal.styled(style, float_text(*event.to)));
  } else if (event.to) {
    text += fmt::format("scale {}", float_text(*event.to));
  } else {
    text += "no scale is told";
  }
  if (event.overflows > 0) text += fmt::format(", {}", count(event.overflows, "overflow"));
  if (event.moves > 1) text += fmt::format(" ({} of them since the last look)", count(event.moves, "change"));
  return text + "\n";
}

std::string checkpoint_text(const TraceCheckpoint& checkpoint) {
  std::string text = fmt::format("checkpoint {}", escaped(checkpoint.path));
  if (checkpoint.step) text += fmt::format(", step {}", *checkpoint.step);
  if (const auto scale = checkpoint.scale()) text += fmt::format(", scale {}", float_text(*scale));
  return text + "\n";
}

}  // namespace

std::string render_watch(const Terminal& terminal, const WatchEvent& event) {
  switch (event.what) {
    case What::found:
      return fmt::format("follows {} ({})\n", escaped(event.path), event.text);
    case What::rotated:
      return fmt::format("{} is {} now\n", escaped(event.path), escaped(event.text));
    case What::truncated:
      return fmt::format("{} was begun anew\n", escaped(event.path));
    case What::gone:
      return fmt::format("{} was taken away\n", escaped(event.path));
    case What::warning:
      return fmt::format("note: {}\n", event.text);
    case What::scale:
      return scale_text(terminal, event);
    case What::restart:
      return event.step ? fmt::format("the run went back to step {}\n", *event.step) : "the run began anew\n";
    case What::checkpoint:
      return checkpoint_text(*event.saved);
    case What::finding:
      return render_finding(terminal, *event.finding);
    case What::over:
      return fmt::format("no longer: {} [{}]\n", escaped(event.finding->message), event.finding->code);
  }
  return {};
}

std::string render_status(const Terminal& terminal, const RunStatus& status) {
  std::string text;
  for (const std::string& target : status.diagnosis.targets) text += (text.empty() ? "" : ", ") + escaped(target);
  text += fmt::format(": {}, {}", count(status.steps, "step"), count(status.overflows, "overflow"));
  if (status.restarts > 0) text += fmt::format(", {}", count(status.restarts, "restart"));
  if (status.step) text += fmt::format(", at step {}", *status.step);
  if (status.scale) text += fmt::format(", scale {}", terminal.styled(Style::strong, float_text(*status.scale)));
  return text + fmt::format(", {}\n", count(status.checkpoints, "checkpoint"));
}
