#include "lib/monitor/text.hpp"

#include <cmath>
#include <utility>

#include "lib/codec/finding_json.hpp"
#include "lib/monitor/at_scale.hpp"

namespace tare::monitor {
namespace {

using json::Json;
using json::Members;

Json json_of(std::uint64_t count) {
  return static_cast<std::int64_t>(count);
}

Json json_of(const std::optional<double>& value) {
  return value ? Json{*value} : Json{};
}

Json json_of(const ExponentHistogram& exponents) {
  json::Array bins;
  bins.reserve(ExponentHistogram::bin_count);
  for (const std::uint64_t count : exponents.bins) bins.push_back(json_of(count));
  Members members;
  members.add("lowest", std::int64_t{ExponentHistogram::lowest});
  members.add("below", json_of(exponents.below));
  members.add("bins", std::move(bins));
  members.add("above", json_of(exponents.above));
  return members.take();
}

Json json_of(const Observed& tensor) {
  const Summary& summary = tensor.summary;
  const bool is_empty = summary.finite() == 0;
  const auto of_finite = [&](double value) { return is_empty ? Json{} : Json{value}; };
  Members members;
  members.add("group", tensor.group).add("name", tensor.name).add("dtype", name_of(tensor.dtype));
  members.add("count", json_of(summary.count));
  members.add("nans", json_of(summary.nans));
  members.add("infinities", json_of(summary.infinities));
  members.add("zeros", json_of(summary.zeros));
  members.add("subnormals", json_of(summary.subnormals));
  members.add("min", of_finite(summary.min)).add("max", of_finite(summary.max));
  members.add("max_abs", of_finite(summary.max_abs));
  members.add("min_abs", summary.zeros == summary.finite() ? Json{} : Json{summary.min_abs});
  members.add("mean", of_finite(summary.mean)).add("mean_abs", of_finite(summary.mean_abs));
  members.add("std", of_finite(deviation(summary))).add("norm", of_finite(norm(summary)));
  members.add("scale", summary.scale).add("exponents", json_of(summary.exponents));
  return members.take();
}

Json json_of(const Gradient& gradient) {
  const kernels::Statistics& seen = gradient.seen;
  Members members;
  members.add("name", gradient.name).add("dtype", name_of(gradient.dtype));
  members.add("count", json_of(seen.count)).add("zeros", json_of(seen.zeros)).add("below", json_of(seen.below));
  members.add("max_abs", seen.max_abs).add("norm", std::sqrt(seen.sum_of_squares));
  if (gradient.finite) {
    members.add("nans", json_of(gradient.finite->nans)).add("infinities", json_of(gradient.finite->infinities));
    members.add("finite_max_abs", gradient.finite->max_abs);
    members.add("finite_norm", std::sqrt(gradient.finite->sum_of_squares));
  }
  members.add("lost", json_of(gradient.lost)).add("headroom_bits", json_of(gradient.headroom_bits));
  const Streak& zero = gradient.all_zero;
  members.add("zero_looks", static_cast<std::int64_t>(zero.looks));
  members.add("zero_since", zero.looks == 0 ? Json{} : Json{zero.began});
  return members.take();
}

Json json_of(const Signals& signals) {
  Members members;
  members.add("lost", json_of(signals.lost)).add("headroom_bits", json_of(signals.headroom_bits));
  members.add("layers", json_of(signals.layers)).add("layers_lost", json_of(signals.layers_lost));
  members.add("layers_zero", json_of(signals.layers_zero));
  members.add("lost_slope", signals.lost_trend.slope).add("lost_confidence", signals.lost_trend.confidence);
  return members.take();
}

Json json_of(const HealthFinding& finding) {
  return json::health_finding(finding);
}

Json json_of(const ScalerSeen& scaler) {
  Members members;
  members.add("scale", scaler.scale).add("steps", scaler.steps).add("skipped", scaler.skipped);
  members.add("growths", scaler.growths).add("backoffs", scaler.backoffs);
  return members.take();
}

Json json_of(const Bounds& bounds) {
  return json::Array{json_of(bounds.least), json_of(bounds.most)};
}

template <class Item>
Json list_of(const std::vector<Item>& items) {
  json::Array told;
  told.reserve(items.size());
  for (const Item& item : items) told.push_back(json_of(item));
  return told;
}

void add_step(Members& members, const ObservedStep& step) {
  members.add("step", step.step).add("tensors", list_of(step.tensors));
  members.add("gradients", list_of(step.gradients));
  members.add("scaler", step.scaler ? json_of(*step.scaler) : Json());
  members.add("signals", json_of(step.signals)).add("findings", list_of(step.findings));
}

}  // namespace

std::string line_of(const ObservedStep& step) {
  Members members;
  members.add("schema", "tare.monitor/1");
  add_step(members, step);
  return json::line_of(members.take());
}

std::string at_scale_text(const ObservedStep* last, double scale, Dtype format) {
  Members members;
  members.add("schema", "tare.at-scale/1").add("step", last != nullptr ? Json{last->step} : Json{});
  members.add("scale", scale).add("format", name_of(format));
  json::Array tensors;
  for (const Observed& tensor : last != nullptr ? last->tensors : std::vector<Observed>{}) {
    const AtScale seen = at_scale(tensor.summary, scale, format);
    Members one;
    one.add("group", tensor.group).add("name", tensor.name).add("count", json_of(tensor.summary.count));
    one.add("zeros", json_of(tensor.summary.zeros)).add("becomes_zero", json_of(seen.zero));
    one.add("becomes_subnormal", json_of(seen.subnormal)).add("becomes_infinite", json_of(seen.beyond));
    tensors.push_back(one.take());
  }
  members.add("tensors", std::move(tensors));
  return json::text_of(members.take());
}

std::string report_of(std::int64_t steps, const ObservedStep* last, const Writer& writer) {
  Members members;
  members.add("schema", "tare.monitor/1").add("steps", steps);
  json::Array told;
  for (const auto& sink : writer.sinks()) {
    Members one;
    one.add(sink->kind(), sink->path());
    one.add("failure", sink->failure().empty() ? Json{} : Json{json::safe_text(sink->failure())});
    told.push_back(one.take());
  }
  members.add("sinks", std::move(told)).add("left_out", json_of(writer.left_out()));
  if (last != nullptr) add_step(members, *last);
  return json::text_of(members.take());
}

}  // namespace tare::monitor
