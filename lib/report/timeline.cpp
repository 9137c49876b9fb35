#include "lib/report/health.hpp"
#include "lib/report/json.hpp"

namespace tare {
namespace {

using report::Array;
using report::Json;
using report::Members;

/// A picture needs no more; `tare trace` has every step.
constexpr std::size_t most_points = 4000;

Json optional_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json row_json(const TimelineRow& row) {
  Members fields;
  for (const auto& [key, value] : row.checkpoint.fields) fields.add(report::safe_text(key), value);
  Members members;
  report::add_text(members, "path", row.checkpoint.path);
  members.add("step", row.checkpoint.step ? Json(*row.checkpoint.step) : Json());
  members.add("dialect", row.checkpoint.dialect).add("fields", fields.take());
  members.add("other_scales", report::list_of(row.checkpoint.other_scales, [](double scale) { return Json(scale); }));
  members.add("overflows_since", report::size(row.overflows)).add("growths_since", report::size(row.growths));
  members.add("lowest_since", optional_json(row.lowest)).add("highest_since", optional_json(row.highest));
  members.add("sick", row.is_sick).add("last_healthy", row.is_last_healthy);
  return members.take();
}

Json point_json(const chart::Point& point) {
  Array pair;
  pair.emplace_back(point.x);
  pair.emplace_back(point.value);
  return pair;
}

}  // namespace

std::string timeline_json(const Timeline& timeline, const std::vector<Pending>& unfinished) {
  Members members;
  members.add("schema", "tare.timeline/1");
  members.add("targets", report::list_of(timeline.targets, report::safe_text)).add("unit", timeline.unit);
  members.add("checkpoints", report::list_of(timeline.rows, row_json));
  members.add("curve", report::list_of(chart::thinned(timeline.curve.points, most_points), point_json));
  members.add("overflows", report::list_of(timeline.curve.events, [](double x) { return Json(x); }));
  members.add("findings", report::list_of(timeline.findings, json::health_finding));
  members.add("last_healthy", report::health_checkpoint(timeline.last_healthy));
  members.add("pending", report::pending(unfinished));
  return report::text_of(members.take());
}

}  // namespace tare
