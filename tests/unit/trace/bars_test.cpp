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

TEST_CASE("counts of so many without an epoch that begin again behind the last are the next epoch's") {
  std::string text;
  for (int step = 0; step < 200; step += 10) text += "step:" + std::to_string(step % 100) + "/100 scale:65536.0\n";
  CHECK(bar_steps(trace_of_log(text)).back() == 190);
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
}
