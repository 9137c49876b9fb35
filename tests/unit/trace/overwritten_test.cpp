// What a run that resumed did again, as DeepSpeed's logs tell it: overflows have no number there.
#include "lib/trace/overwritten.hpp"

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;

namespace {

std::string deepspeed_report(int step, int skipped) {
  return fmt::format("[INFO] [logging.py:96:log_dist] [Rank 0] step={}, skipped={}, lr=[6e-05], mom=[[0.9, 0.95]]\n",
                     step, skipped);
}

std::string deepspeed_overflow(int scale) {
  return fmt::format(
      "[INFO] [loss_scaler.py:183:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted "
      "loss scale: {}, reducing to {}\n",
      scale, scale / 2);
}

constexpr const char* deepspeed_death =
    "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.\n";

std::vector<double> kept_scales(const Trace& trace) {
  std::vector<double> scales;
  Overwritten overwritten(trace);
  for (const TraceStep& step : trace.steps) {
    if (!overwritten.has(step) && step.scale) scales.push_back(*step.scale);
  }
  return scales;
}

}  // namespace

TEST_CASE("overflows behind the step that a run resumed from are overwritten with their steps") {
  std::string text = deepspeed_overflow(512);
  for (int step = 10; step <= 40; step += 10) text += deepspeed_report(step, 1);
  text += deepspeed_overflow(256) + deepspeed_overflow(128) + deepspeed_report(50, 3);
  for (int step = 30; step <= 60; step += 10) text += deepspeed_report(step, 1);
  CHECK(kept_scales(trace_of_log(text)) == std::vector<double>{512});
}

TEST_CASE("an exception ends a start of the run, and what follows is the next start's") {
  std::string text = deepspeed_overflow(512);
  for (int step = 10; step <= 40; step += 10) text += deepspeed_report(step, 1);
  text += deepspeed_overflow(2) + deepspeed_death + deepspeed_overflow(256);
  for (int step = 30; step <= 60; step += 10) text += deepspeed_report(step, 2);
  const Trace trace = trace_of_log(text);
  CHECK(trace.segments.size() == 2);
  CHECK(kept_scales(trace) == std::vector<double>{512, 256});
}

TEST_CASE("overflows of a scaler that begins anew are the new start's, though its first number comes later") {
  std::string text = deepspeed_overflow(512);
  for (int step = 10; step <= 40; step += 10) text += deepspeed_report(step, 1);
  text += deepspeed_overflow(256) + deepspeed_overflow(65536) + deepspeed_overflow(32768) + deepspeed_overflow(16384);
  for (int step = 30; step <= 60; step += 10) text += deepspeed_report(step, 4);
  CHECK(kept_scales(trace_of_log(text)) == std::vector<double>{512, 65536, 32768, 16384});
}

TEST_CASE("overflows that ended a start are not counted again in the first report of the next") {
  std::string text;
  for (int step = 10; step <= 40; step += 10) text += deepspeed_report(step, 0);
  for (const int scale : {16, 8, 4, 2}) text += deepspeed_overflow(scale);
  text += deepspeed_death;
  for (int step = 50; step <= 80; step += 10) text += deepspeed_report(step, 0);
  for (const TraceStep& step : trace_of_log(text).steps) {
    if (step.step) CHECK(step.skipped.value_or(0) == 0);
  }
}
