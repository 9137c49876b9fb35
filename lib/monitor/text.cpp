#include "lib/monitor/text.hpp"

#include <system_error>
#include <utility>

#include "lib/codec/json_text.hpp"

namespace tare::monitor {
namespace {

using json::Json;
using json::Members;

Json json_of(std::uint64_t count) {
  return static_cast<std::int64_t>(count);
}

Json json_of(const ExponentHistogram& exponents) {
  json::Array bins;
  bins.reserve(exponents.bins.size());
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
  members.add("mean", of_finite(summary.mean)).add("mean_abs", of_finite(summary.mean_abs));
  members.add("std", of_finite(summary.deviation())).add("norm", of_finite(summary.norm()));
  members.add("exponents", json_of(summary.exponents));
  return members.take();
}

void add_step(Members& members, std::int64_t step, std::span<const Observed> tensors) {
  json::Array told;
  told.reserve(tensors.size());
  for (const Observed& tensor : tensors) told.push_back(json_of(tensor));
  members.add("step", step).add("tensors", std::move(told));
}

}  // namespace

std::string line_of(std::int64_t step, std::span<const Observed> tensors) {
  Members members;
  members.add("schema", "tare.monitor/1");
  add_step(members, step, tensors);
  return json::line_of(members.take());
}

std::string report_of(std::int64_t steps, const std::optional<ObservedStep>& last, std::span<const LineFile> sinks) {
  Members members;
  members.add("schema", "tare.monitor/1").add("steps", steps);
  json::Array told;
  for (const LineFile& sink : sinks) {
    Members one;
    one.add("jsonl", sink.path());
    one.add("failure", sink.error() == 0 ? Json{} : Json{std::generic_category().message(sink.error())});
    told.push_back(one.take());
  }
  members.add("sinks", std::move(told));
  if (last) add_step(members, last->step, last->tensors);
  return json::text_of(members.take());
}

}  // namespace tare::monitor
