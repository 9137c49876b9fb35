// Logs as users have them, and what the doctor says of each.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lib/health/doctor.hpp"
#include "lib/health/readings.hpp"
#include "tests/catch.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;

namespace {

std::vector<std::string> codes_of(const std::string& log) {
  std::vector<std::string> codes;
  for (const HealthFinding& finding : examine(trace_of_log(log), {})) codes.push_back(finding.code);
  return codes;
}

using Codes = std::vector<std::string>;

/// Epochs of 100 steps, of which each counts from 1; in the second twelve overflow one after the other.
std::string epochs_of_100(const char* line) {
  std::string log;
  double scale = 65536;
  for (int epoch = 1; epoch <= 3; ++epoch) {
    for (int step = 1; step <= 100; ++step) {
      if (epoch == 2 && step > 50 && step <= 62) scale /= 2;
      log +=
          fmt::format(fmt::runtime(line), fmt::arg("epoch", epoch), fmt::arg("step", step), fmt::arg("scale", scale));
    }
  }
  return log;
}

std::string overflow_of_apex(int scaler, double left) {
  return fmt::format("Gradient overflow.  Skipping step, loss scaler {} reducing loss scale to {:.1f}\n", scaler, left);
}

std::string overflow_of_deepspeed(int before) {
  return fmt::format("[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {}, reducing to {}\n", before,
                     before / 2);
}

}  // namespace

TEST_CASE("a collapse in the second epoch is told where steps count from 1 in each") {
  CHECK(codes_of(epochs_of_100("Epoch [{epoch}/3], Step [{step}/100], Loss: 2.31, Scale: {scale:.1f}\n")) ==
        Codes{"collapse"});
  CHECK(codes_of(epochs_of_100("Epoch {epoch} Step {step} loss 2.31 loss_scale {scale:.1f}\n")) == Codes{"collapse"});
  CHECK(codes_of("epoch,step,loss_scale\n" + epochs_of_100("{epoch},{step},{scale:.1f}\n")) == Codes{"collapse"});
  CHECK(codes_of(epochs_of_100("{{\"epoch\": {epoch}, \"step\": {step}, \"loss_scale\": {scale:.1f}}}\n")) ==
        Codes{"collapse"});
}

TEST_CASE("losses that are NaN in the second epoch are told where steps count from 1 in each, and no scale is") {
  for (const char* line :
       {"Epoch {epoch} Step {step} loss {loss}\n", "Epoch [{epoch}/3], Step [{step}/9], Loss: {loss}\n"}) {
    std::string log;
    for (const int epoch : {1, 2, 3}) {
      for (int step = 1; step <= 9; ++step) {
        log += fmt::format(fmt::runtime(line), fmt::arg("epoch", epoch), fmt::arg("step", step),
                           fmt::arg("loss", epoch == 2 ? "nan" : "2.31"));
      }
    }
    INFO(line);
    CHECK(codes_of(log).front() == "nan-loss");
  }
}

TEST_CASE("apex's other scalers are told, and no run is healthy of which one scaler was looked at") {
  std::string log = overflow_of_apex(0, 32768);
  for (double left = 32768; left > 1e-8; left /= 2) log += overflow_of_apex(1, left);
  const Codes codes = codes_of(log);
  CHECK(std::ranges::count(codes, "several-scalers") == 1);
  CHECK(std::ranges::count(codes, "healthy") == 0);
}

TEST_CASE("overflows of two engines of DeepSpeed in one log are nobody's collapse") {
  std::string log;
  for (int before = 65536; before > 128; before /= 2)
    log += overflow_of_deepspeed(before) + overflow_of_deepspeed(before);
  for (int step = 10; step <= 100; step += 10) {
    for (const int skipped : {9, 3}) log += fmt::format("[Rank 0] step={}, skipped={}, lr=[1e-05]\n", step, skipped);
  }
  CHECK(codes_of(log) == Codes{"mixed-scalers"});
}

TEST_CASE("a resume that begins with the report that the log ended with is no second engine") {
  std::string log;
  for (int step = 100; step <= 2100; step += 100) log += fmt::format("[Rank 0] step={}, skipped=3, lr=[1e-05]\n", step);
  for (int before = 65536; before > 512; before /= 2) log += overflow_of_deepspeed(before);
  for (int step = 2100; step <= 3000; step += 100)
    log += fmt::format("[Rank 0] step={}, skipped=10, lr=[1e-05]\n", step);
  CHECK(std::ranges::count(codes_of(log), "mixed-scalers") == 0);
}

TEST_CASE("apex's scale that comes back to 16 every 2000 batches is at no floor") {
  std::string log;
  for (int batch = 0; batch < 10000; ++batch) {
    if (batch % 2000 == 0) log += overflow_of_apex(0, 16);
    log += fmt::format("| epoch 1 | {} batches | loss 2.31\n", batch);
  }
  CHECK(codes_of(log) == Codes{"oscillating", "healthy"});
}

TEST_CASE("fairseq's scale is at no floor, however low: it raises there") {
  std::string log;
  for (int update = 1; update <= 100; ++update) {
    log +=
        fmt::format("train_inner | epoch 001: {0} / 999 loss=2.3, num_updates={0}, gnorm=1, loss_scale=0.5\n", update);
    if (update % 20 == 0) log += "NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 0.5\n";
  }
  const Codes codes = codes_of(log);
  CHECK(std::ranges::count(codes, "stuck-at-floor") == 0);
}

TEST_CASE("overflows between which the log tells thirty losses do not follow each other") {
  const auto log = [](int losses) {
    std::string text;
    int before = 65536;
    for (; before > 512; before /= 2) text += overflow_of_deepspeed(before);
    for (; before > 128; before /= 2) {
      for (int i = 0; i < losses; ++i) text += "{'loss': 2.31, 'learning_rate': 1e-05, 'epoch': 0.3}\n";
      text += overflow_of_deepspeed(before);
    }
    return codes_of(text);
  };
  CHECK(log(30) == Codes{"initial-search", "healthy"});
  CHECK(log(1) == Codes{"collapse"});  // a line a step would tell as much
}

TEST_CASE("a step that overflowed in fairseq ran with twice the scale that its line tells") {
  const auto readings = scale_readings(
      trace_of_log("NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 64.0\n"
                   "NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 64.0\n"));
  REQUIRE(readings.size() == 2);
  CHECK(readings[1].before == 128);
  CHECK(readings[1].after == 64);
}
