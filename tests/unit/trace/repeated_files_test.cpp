// A log that lies in a run's folder twice is one run.
#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;

namespace {

/// apex's words: nothing numbers its overflows.
std::string overflows(int count, const std::string& banner = "a console\n") {
  std::string text = banner;
  for (int i = 0; i < count; ++i) {
    text +=
        fmt::format("step {} loss 2.5\nGradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {}\n", i,
                    65536.0 / (2 << i));
  }
  return text;
}

std::string iterations(int count) {
  std::string text;
  for (int i = 1; i <= count; ++i) {
    text += fmt::format(
        " iteration {:8d}/    1000 | consumed samples: 640 | lm loss: 3.0E+00 | loss scale: 64.0 | number of skipped "
        "iterations:   0 | number of nan iterations:   0 |\n",
        i);
  }
  return text;
}

std::size_t overflows_in(const Trace& trace) {
  const auto steps = steps_of(trace);
  return static_cast<std::size_t>(
      std::ranges::count_if(steps, [](const TraceStep& step) { return step.overflow == true; }));
}

}  // namespace

TEST_CASE("a console that was kept twice, whole or in part, counts no overflow twice and shows no restart") {
  for (const int there : {2, 5}) {
    for (const bool is_first_shorter : {false, true}) {
      const int first = is_first_shorter ? there : 5, second = is_first_shorter ? 5 : there;
      const auto unnumbered = trace_of({{"slurm-1.out", overflows(first)}, {"wandb/output.log", overflows(second)}});
      CHECK(overflows_in(unnumbered) == 5);
      const auto numbered = trace_of({{"slurm-1.out", iterations(first)}, {"wandb/output.log", iterations(second)}});
      CHECK(numbered.segments.size() == 1);
      CHECK(numbered.steps.size() == 5);
    }
  }
}

TEST_CASE("logs that begin alike and differ later are a run and its restart") {
  const auto trace = trace_of({{"a.log", iterations(5) + "killed\n"}, {"b.log", iterations(4) + "done\n"}});
  CHECK(trace.segments.size() == 2);
  CHECK(trace.steps.size() == 9);
}

TEST_CASE("series of MLflow with equal rows are two metrics, and no copy") {
  const std::string rows = "1700000000000 8 1\n1700000000001 8 2\n";
  const auto trace = trace_of({{"metrics/batch_size", rows}, {"metrics/loss_scale", rows}});
  CHECK(trace.steps.size() == 2);
}
