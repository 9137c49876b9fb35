// Lines that tell a scale and no step.
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;

namespace {

std::vector<double> scales_of(const std::string& text) {
  std::vector<double> scales;
  for (const TraceStep& step : trace_of_log(text).steps) {
    scales.push_back(step.after.value_or(step.smoothed.value_or(-1)));
  }
  return scales;
}

using Scales = std::vector<double>;

}  // namespace

TEST_CASE("a scale that the same words tell again and again is the run's, though no line has a step") {
  CHECK(scales_of("2024-05-01 10:00:00,000 Current grad scale: 65536.0\n"
                  "2024-05-01 11:00:00,000 Current grad scale: 131072.0\n"
                  "2024-05-01 12:00:00,000 Current grad scale: 262144.0\n") == Scales{65536, 131072, 262144});
  CHECK(scales_of("loss scale: 65536.0\nloss scale: 32768.0\nloss scale: 0.0\n") == Scales{65536, 32768, 0});
  CHECK(scales_of("scaler.get_scale() = 2048.0\nscaler.get_scale() = 2048.0\nscaler.get_scale() = 1024.0\n") ==
        Scales{2048, 2048, 1024});
}

TEST_CASE("losses are kept beside a scale that is told without a step") {
  const Trace trace = trace_of_log(
      "step 1 loss nan\nloss scale: 65536.0\nstep 2 loss nan\nloss scale: 32768.0\nstep 3 loss nan\n"
      "loss scale: 16384.0\n");
  CHECK(trace.steps.size() == 3);
  CHECK(trace.without_scale.size() == 3);
}

TEST_CASE("what a configuration says of a scale is no run's") {
  CHECK(scales_of("loss_scale: 65536\nmin_loss_scale: 1\ninitial_loss_scale: 2048\nloss_scale_window: 1000\n").empty());
  CHECK(scales_of("[rank0] loss_scale: 65536\n[rank1] loss_scale: 65536\n[rank2] loss_scale: 65536\n").empty());
  CHECK(scales_of("loss scale: 65536.0\nloss scale: 32768.0\n").empty());
  CHECK(scales_of("grad scale: 2048\ngrad scale: 1733.5\ngrad scale: 1024\n").empty());
  CHECK(scales_of("Namespace(loss_scale=65536, other_loss_scale=1)\nNamespace(loss_scale=65536, other_loss_scale=1)\n"
                  "Namespace(loss_scale=65536, other_loss_scale=1)\n")
            .empty());
}

TEST_CASE("a line with a step says more than lines without") {
  CHECK(scales_of("loss scale: 65536.0\nstep 10 loss_scale 65536.0\nloss scale: 32768.0\nstep 20 loss_scale 32768.0\n"
                  "loss scale: 16384.0\n") == Scales{65536, 32768});
}
