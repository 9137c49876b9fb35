// Progress bars that begin anew in every epoch.
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;

namespace {

std::string bar(const std::string& description, int step, const std::string& scale) {
  return description + "  1%|          | " + std::to_string(step) +
         "/4 [00:01<01:00,  1.00it/s, loss=3.21, scale=" + scale + "]\n";
}

std::vector<std::optional<std::int64_t>> bar_steps(const Trace& trace) {
  std::vector<std::optional<std::int64_t>> numbers;
  for (const TraceStep& step : trace.steps) numbers.push_back(step.step);
  return numbers;
}

using Bars = std::vector<std::optional<std::int64_t>>;

}  // namespace

TEST_CASE("a run's epochs are no restarts, however its bars name them") {
  for (const auto& [first, second] :
       std::vector<std::pair<std::string, std::string>>{{"Epoch 1/2:", "Epoch 2/2:"},
                                                        {"Epoch [1/2]:", "Epoch [2/2]:"},
                                                        {"Training epoch 1:", "Training epoch 2:"},
                                                        {"epoch 1:", "epoch 2:"},
                                                        {"[Epoch 0 / Train]:", "[Epoch 1 / Train]:"},
                                                        {"Epoch 0:", "Epoch 1:"},
                                                        {"Epoch 1:", "Epoch 2:"},
                                                        {"", ""},
                                                        {"Training:", "Training:"}}) {
    INFO(first);
    const Trace trace = trace_of_log(bar(first, 1, "65536.0") + bar(first, 4, "32768.0") + bar(second, 1, "16384.0") +
                                     bar(second, 4, "8192.0"));
    CHECK(bar_steps(trace) == Bars{1, 4, 5, 8});
    CHECK(trace.segments.size() == 1);
  }
}

TEST_CASE("a run that counts its steps of so many and is resumed near its end is told as resumed") {
  const auto line = [](int step) { return "step " + std::to_string(step) + "/1000 loss 2.31 loss_scale 65536.0\n"; };
  const Trace trace = trace_of_log(line(949) + line(950) + line(999) + line(1000) + line(950) + line(1000) + line(1));
  CHECK(bar_steps(trace) == Bars{949, 950, 999, 1000, 950, 1000, 1});
  CHECK(trace.segments.size() == 3);
  const Trace bars = trace_of_log(bar("", 1, "65536.0") + bar("", 2, "65536.0") + bar("", 4, "32768.0") +
                                  bar("", 3, "32768.0") + bar("", 4, "32768.0"));
  CHECK(bar_steps(bars) == Bars{1, 2, 4, 3, 4});
}

TEST_CASE("a bar of epoch 1 that is told of late is of the first epoch") {
  const auto late = [](int epoch, int step) {
    return "Epoch " + std::to_string(epoch) + "/3:  7%|#         | " + std::to_string(step) +
           "/100 [00:01<01:00,  1.00it/s, loss=3.21, scale=65536.0]\n";
  };
  CHECK(bar_steps(trace_of_log(late(1, 7) + late(1, 98) + late(2, 7))) == Bars{7, 98, 107});
}

TEST_CASE("a bar that is broken off and begins again is a restart") {
  const Trace trace = trace_of_log(bar("", 1, "65536.0") + bar("", 2, "32768.0") + bar("", 1, "65536.0"));
  CHECK(bar_steps(trace) == Bars{1, 2, 1});
  CHECK(trace.segments.size() == 2);
}

TEST_CASE("behind other epochs a bar that is broken off does not tell where the run was resumed") {
  const Trace trace = trace_of_log(bar("", 1, "65536.0") + bar("", 4, "32768.0") + bar("", 2, "16384.0") +
                                   bar("", 1, "65536.0") + bar("", 4, "32768.0"));
  CHECK(bar_steps(trace) == Bars{1, 4, 6, std::nullopt, std::nullopt});
  CHECK(trace.segments.size() == 2);
}
