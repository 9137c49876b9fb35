#include "lib/scaler/statistics.hpp"

#include <cmath>
#include <optional>

#include "lib/codec/json_text.hpp"

namespace tare {
namespace {

json::Json json_of(std::uint64_t count) {
  return static_cast<std::int64_t>(count);
}

json::Members members_of(const kernels::Statistics& seen) {
  json::Members members;
  members.add("count", json_of(seen.count));
  members.add("zeros", json_of(seen.zeros));
  members.add("below", json_of(seen.below));
  members.add("max_abs", seen.max_abs);
  members.add("sum_of_squares", seen.sum_of_squares);
  members.add("norm", std::sqrt(seen.sum_of_squares));
  return members;
}

json::Json json_of(const kernels::Statistics& seen) {
  return members_of(seen).take();
}

/// Of all tensors together; none where they are not counted. Ranks do not tell one another theirs.
std::optional<kernels::FiniteValues> finite_in_total(const GradsReport& report) {
  if (report.finite.empty() || report.is_of_all_ranks) return std::nullopt;
  kernels::FiniteValues all;
  for (const kernels::FiniteValues& more : report.finite) merge(all, more);
  return all;
}

/// `finite` may be null.
json::Json json_of(const kernels::Statistics& seen, const kernels::FiniteValues* finite) {
  json::Members members = members_of(seen);
  if (finite != nullptr) {
    members.add("nans", json_of(finite->nans)).add("infinities", json_of(finite->infinities));
    members.add("finite_max_abs", finite->max_abs).add("finite_norm", std::sqrt(finite->sum_of_squares));
  }
  return members.take();
}

}  // namespace

std::string statistics_json(const ScalerReport& report) {
  json::Members members;
  members.add("schema", "tare.statistics/1");
  members.add("scale", report.scale);
  members.add("found_inf", report.found_inf);
  members.add("steps", report.counters.steps);
  members.add("skipped", report.counters.skipped);
  members.add("growths", report.counters.growths);
  members.add("backoffs", report.counters.backoffs);
  members.add("underflow_threshold", report.threshold);
  members.add("accumulated", json_of(report.accumulated));
  members.add("last_step", json_of(report.last_step));
  return json::text_of(members.take());
}

std::string statistics_json(const GradsReport& report) {
  constexpr std::size_t usual_bytes = 256;  // of a tensor's text
  const auto each_tensor = [&](const std::function<void(const json::Json&)>& add) {
    for (std::size_t i = 0; i < report.tensors.size(); ++i) {
      add(json_of(report.tensors[i], report.finite.empty() ? nullptr : &report.finite[i]));
    }
  };
  const std::optional<kernels::FiniteValues> finite = finite_in_total(report);
  json::Members members;
  members.add("schema", "tare.grads/1");
  members.add("found_inf", report.found_inf);
  members.add("underflow_threshold", report.threshold);
  members.add("total", json_of(report.total, finite ? &*finite : nullptr));
  return json::gathered(
      [&](const json::TextSink& sink) {
        json::write_text(members.take(), {"tensors", each_tensor}, {}, sink);
      },
      report.tensors.size() * usual_bytes);
}

}  // namespace tare
