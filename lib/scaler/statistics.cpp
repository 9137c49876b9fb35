#include "lib/scaler/statistics.hpp"

#include <cmath>

#include "lib/codec/json_text.hpp"

namespace tare {
namespace {

json::Json json_of(const kernels::Statistics& seen) {
  return {{"count", seen.count},
          {"zeros", seen.zeros},
          {"below", seen.below},
          {"max_abs", seen.max_abs},
          {"sum_of_squares", seen.sum_of_squares},
          {"norm", std::sqrt(seen.sum_of_squares)}};
}

}  // namespace

std::string statistics_json(const ScalerReport& report) {
  const json::Json root{{"schema", "tare.statistics/1"},
                        {"scale", report.scale},
                        {"found_inf", report.found_inf},
                        {"steps", report.counters.steps},
                        {"skipped", report.counters.skipped},
                        {"growths", report.counters.growths},
                        {"backoffs", report.counters.backoffs},
                        {"underflow_threshold", report.threshold},
                        {"accumulated", json_of(report.accumulated)},
                        {"last_step", json_of(report.last_step)}};
  return json::text_of(root);
}

}  // namespace tare
