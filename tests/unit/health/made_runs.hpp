// Runs made up step by step, as a log would tell them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/health/doctor.hpp"
#include "lib/trace/trace.hpp"

namespace tare::tests {

class MadeRun {
 public:
  explicit MadeRun(const std::string& kind = "jsonl", bool has_numbers = true) : has_numbers_(has_numbers) {
    trace_.sources.push_back({"log.txt", kind, ""});
    trace_.segments.push_back({});
  }

  /// Clean steps at one scale, each told.
  MadeRun& clean(double scale, std::int64_t steps = 1, std::optional<float> loss = {}) {
    for (std::int64_t i = 0; i < steps; ++i) put(scale, scale, false, loss);
    return *this;
  }
  MadeRun& growth(double scale, double after) {
    put(scale, after, false, {});
    return *this;
  }
  MadeRun& overflow(double scale, double after) {
    put(scale, after, true, {});
    return *this;
  }
  /// Overflows that halve the scale, so many.
  MadeRun& halvings(double scale, int count) {
    for (int i = 0; i < count; ++i, scale /= 2) overflow(scale, scale / 2);
    return *this;
  }
  MadeRun& loss(double scale, float value, std::optional<float> norm = {}) {
    put(scale, scale, false, value, norm);
    return *this;
  }
  /// A line that stands for several steps; of DeepSpeed's without a scale.
  MadeRun& interval(std::optional<double> after, std::uint64_t steps, std::uint64_t skipped) {
    step_ += static_cast<std::int64_t>(steps);
    TraceStep told = begin();
    told.after = after;
    told.span = steps;
    told.skipped = skipped;
    if (skipped == 0) told.overflow = false;
    if (skipped == steps) told.overflow = true;
    return finish(told);
  }
  /// Megatron's line of one step: a norm, and how many steps were skipped.
  MadeRun& norm(double after, float value, std::uint64_t skipped = 0) {
    ++step_;
    TraceStep told = begin();
    told.after = after;
    told.skipped = skipped;
    told.overflow = skipped == 1;
    told.grad_norm = value;
    return finish(told);
  }
  /// A line of an average of the scale over the ten steps before.
  MadeRun& average(double scale) {
    step_ += 10;
    TraceStep told = begin();
    told.smoothed = scale;
    return finish(told);
  }
  /// DeepSpeed's line of an overflow: no number, and the report of its interval, which comes later, counts it, too.
  MadeRun& line(double scale, double after) {
    TraceStep told = begin();
    told.step.reset();
    told.scale = scale;
    told.after = after;
    told.overflow = true;
    return finish(told);
  }
  /// Apex' line of an overflow: what it left, and nothing else.
  MadeRun& left(double after) {
    TraceStep told = begin();
    told.step.reset();
    told.after = after;
    told.overflow = true;
    return finish(told);
  }
  /// What an event file tells: the scale that a step left, and nothing else.
  MadeRun& sample(std::int64_t step, double after) {
    step_ = step;
    TraceStep told = begin();
    told.after = after;
    return finish(told);
  }
  /// Steps of which nothing is told.
  MadeRun& unseen(std::int64_t steps) {
    step_ += steps;
    return *this;
  }
  MadeRun& dies() {
    ++step_;
    TraceStep told = begin();
    told.overflow = true;
    told.fatal = true;
    return finish(told);
  }
  /// The run starts again behind that step, which is the last that is kept.
  MadeRun& resume(std::int64_t behind) {
    trace_.segments.back().kept = behind;
    trace_.segments.push_back({});
    step_ = behind;
    return *this;
  }
  MadeRun& checkpoint(std::int64_t step, double scale) {
    trace_.checkpoints.push_back({"run/step" + std::to_string(step), step, "torch", {{"scale", scale}}});
    return *this;
  }

  [[nodiscard]] const Trace& trace() {
    if (!trace_.segments.empty() && !trace_.segments.back().kept) trace_.segments.back().kept = step_;
    return trace_;
  }

  [[nodiscard]] std::vector<std::string> codes(const Thresholds& thresholds = {}) {
    std::vector<std::string> codes;
    for (const HealthFinding& finding : examine(trace(), thresholds)) codes.push_back(finding.code);
    return codes;
  }

 private:
  TraceStep begin() {
    TraceStep told;
    if (has_numbers_) told.step = step_;
    told.line = ++line_;
    told.segment = static_cast<std::uint32_t>(trace_.segments.size() - 1);
    return told;
  }

  MadeRun& finish(const TraceStep& told) {
    TraceSegment& segment = trace_.segments.back();
    if (told.step && !segment.first) segment.first = told.step;
    if (told.step) segment.last = told.step;
    trace_.steps.push_back(told);
    return *this;
  }

  void put(double scale, double after, bool overflow, std::optional<float> loss, std::optional<float> norm = {}) {
    ++step_;
    TraceStep told = begin();
    told.scale = scale;
    told.after = after;
    told.overflow = overflow;
    told.loss = loss;
    told.grad_norm = norm;
    finish(told);
  }

  Trace trace_;
  std::int64_t step_ = 0;
  std::uint64_t line_ = 0;
  bool has_numbers_;
};

}  // namespace tare::tests
