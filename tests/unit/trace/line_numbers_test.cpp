// Numbers in lines: of many digits, and of steps that count within an epoch or through the run.
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;

namespace {

std::vector<std::int64_t> numbers_of(const Trace& trace) {
  std::vector<std::int64_t> numbers;
  for (const TraceStep& step : trace.steps) numbers.push_back(step.step.value_or(-1));
  return numbers;
}

using Numbers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("a number in groups of three digits is the whole number, not what stands before its first comma") {
  const Trace trace = trace_of_log(
      "step 999 | loss_scale 65,536\nstep 1,000 | loss_scale 65,536.0\n"
      "step 1,234,567 | loss_scale 4,294,967,296\n");
  CHECK(numbers_of(trace) == Numbers{999, 1000, 1234567});
  std::vector<double> scales;
  for (const TraceStep& step : trace.steps) scales.push_back(step.after.value_or(0));
  CHECK(scales == std::vector<double>{65536, 65536, 4294967296});
}

TEST_CASE("a comma that parts two numbers is no group's") {
  for (const char* line : {"step 12,3456 loss_scale 64", "step 12,34 loss_scale 64", "step 12, loss_scale 64",
                           "step 12,loss_scale 64", "step 12,345,6 loss_scale 64"}) {
    INFO(line);
    CHECK(numbers_of(trace_of_log(line + std::string("\n"))) == Numbers{12});
  }
  CHECK(numbers_of(trace_of_log("step 0012,345 loss_scale 64\n")) == Numbers{12});
}

TEST_CASE("a number of thousands that a letter stands for is not told") {
  CHECK(trace_of_log("step 1 loss_scale 64k\nstep 2 loss_scale 64K\n").steps.empty());
  CHECK(trace_of_log("step 10k loss_scale 64\nstep 11k loss_scale 64\n").steps.empty());
}

TEST_CASE("steps that begin again in each epoch are numbered through the run where the line has their count") {
  const char* line = "Epoch [{}/3], Step [{}/100], Loss: 2.31, Scale: 65536.0\n";
  std::string log;
  for (const int epoch : {1, 2, 3}) {
    for (const int step : {50, 100}) log += fmt::format(fmt::runtime(line), epoch, step);
  }
  const Trace trace = trace_of_log(log);
  CHECK(numbers_of(trace) == Numbers{50, 100, 150, 200, 250, 300});
  CHECK(trace.segments.size() == 1);
  // Gone on with from the end of the first epoch.
  log += fmt::format(fmt::runtime(line), 2, 50);
  CHECK(trace_of_log(log).segments.size() == 2);
}

TEST_CASE("steps of the run keep their numbers beside an epoch, though their count stands behind them") {
  const Trace trace = trace_of_log(
      "Epoch [1/2], Step [100/400], Scale: 65536.0\nEpoch [2/2], Step [300/400], Scale: "
      "65536.0\nEpoch [2/2], Step [400/400], Scale: 65536.0\n");
  CHECK(numbers_of(trace) == Numbers{100, 300, 400});
}

TEST_CASE("steps that begin again in each epoch have no number of the run where nothing tells how many there are") {
  const Trace trace = trace_of_log(
      "epoch 1 step 1 loss_scale 64\nepoch 1 step 2 loss_scale 64\n"
      "epoch 2 step 1 loss_scale 32\nepoch 2 step 2 loss_scale 32\n");
  CHECK(numbers_of(trace) == Numbers{1, 2, -1, -1});
  CHECK(trace.segments.size() == 1);
}

TEST_CASE("fairseq's line of an epoch and the updates' reports tell each step once") {
  std::string log;
  for (int update = 95; update <= 1900; ++update) {
    if (update % 95 == 0)
      log += fmt::format("train | epoch 001 | loss 2 | num_updates {} | loss_scale 64 | wall 1\n", update);
    if (update % 100 == 0)
      log += fmt::format("train_inner | epoch 001: loss=2, num_updates={}, loss_scale=64, wall=1\n", update);
  }
  std::uint64_t told = 0;
  for (const TraceStep& step : trace_of_log(log).steps) told += step.span;
  CHECK(told <= 1900);
  CHECK(told >= 1800);
}
