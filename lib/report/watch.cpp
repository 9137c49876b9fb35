#include "lib/report/watch.hpp"

#include <ctime>

#include "lib/base/open_metrics.hpp"
#include "lib/report/health.hpp"
#include "lib/report/json.hpp"

namespace tare {

namespace {

using report::Json;
using report::Members;

Members began(std::string_view what, std::string_view time) {
  Members members;
  members.add("schema", "tare.watch/1").add("time", time).add("event", what);
  return members;
}

template <class T>
void add(Members& members, std::string_view name, const std::optional<T>& value) {
  if (value) members.add(name, Json(*value));
}

// ---- metrics

std::optional<double> as_number(const std::optional<std::int64_t>& step) {
  return step ? std::optional(static_cast<double>(*step)) : std::nullopt;
}

std::optional<double> scale_of(const std::optional<TraceCheckpoint>& checkpoint) {
  return checkpoint ? checkpoint->scale() : std::nullopt;
}

}  // namespace

std::string watch_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string watch_line(const WatchEvent& event, std::string_view time) {
  Members members = began(name(event.what), time);
  if (!event.path.empty()) report::add_text(members, "path", event.path);
  if (!event.text.empty()) report::add_text(members, "text", event.text);
  add(members, "step", event.step);
  if (event.what == WatchEvent::What::scale) {
    add(members, "from", event.from);
    add(members, "to", event.to);
    members.add("overflows", report::size(event.overflows)).add("moves", report::size(event.moves));
  }
  if (event.saved) members.add("checkpoint", report::health_checkpoint(event.saved));
  if (event.finding) members.add("finding", json::health_finding(*event.finding));
  return json::line_of(members.take());
}

std::string watch_line(const RunStatus& status, std::string_view what, std::string_view why, std::string_view time) {
  Members members = began(what, time);
  if (!why.empty()) members.add("why", why);
  members.add("targets", report::list_of(status.diagnosis.targets, report::safe_text));
  members.add("steps", report::size(status.steps)).add("overflows", report::size(status.overflows));
  members.add("restarts", report::size(status.restarts));
  add(members, "step", status.step);
  add(members, "scale", status.scale);
  members.add("checkpoints", report::size(status.checkpoints));
  members.add("newest", report::health_checkpoint(status.newest));
  members.add("findings", report::list_of(status.diagnosis.findings, json::health_finding));
  members.add("last_healthy", report::health_checkpoint(status.diagnosis.last_healthy));
  return json::line_of(members.take());
}

std::string watch_metrics(const RunStatus& status, std::string_view run, double changed_at) {
  OpenMetrics metrics(run);
  metrics.gauge("tare_scale", "The loss scale that the last step left.", status.scale);
  metrics.gauge("tare_step", "The last step that is told.", as_number(status.step));
  metrics.counter("tare_steps", "Steps that are told of.", status.steps);
  metrics.counter("tare_overflows", "Steps that overflowed, at least.", status.overflows);
  metrics.counter("tare_restarts", "Times that the run went back to an older step.", status.restarts);
  metrics.gauge("tare_checkpoints", "Checkpoints that are whole.", static_cast<double>(status.checkpoints));
  if (status.newest) {
    metrics.gauge("tare_checkpoint_step", "The step of the newest checkpoint.", as_number(status.newest->step));
    metrics.gauge("tare_checkpoint_scale", "The loss scale in it.", scale_of(status.newest));
  }
  const auto& healthy = status.diagnosis.last_healthy;
  if (healthy) {
    metrics.gauge("tare_last_healthy_step", "The step of the last checkpoint before the trouble.",
                  as_number(healthy->step));
  }
  metrics.findings(status.diagnosis.findings);
  metrics.gauge("tare_changed_timestamp_seconds", "When the run was seen to change last.", changed_at);
  return metrics.take();
}

}  // namespace tare
