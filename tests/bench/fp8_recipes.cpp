// Delayed, dynamic and static scaling beside each other: what a step of each takes, and how far off values are that
// went to e4m3 and back while their magnitude drifts.
//
//   bench_fp8_recipes [runs]                          default: 15 runs of the timed step
#include <tare/tare.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numbers>
#include <vector>

#include "tests/bench/rows.hpp"

namespace {

struct Recipe {
  const char* name;
  const char* config;
  bool looks_first = false;  ///< dynamic: observe, update, quantise
  bool is_frozen = false;    ///< calibrated on what comes before the drift
};

constexpr Recipe recipes[] = {
    {"delayed, greatest of 16", R"({"policy":"transformer_engine","amax_history_len":16,"slots":4})"},
    {"delayed, greatest of 1,024", R"({"policy":"transformer_engine","amax_history_len":1024,"slots":4})"},
    {"delayed, greatest of 16, margin 1",
     R"({"policy":"transformer_engine","amax_history_len":16,"margin":1,"slots":4})"},
    {"delayed, most recent",
     R"({"policy":"transformer_engine","amax_history_len":16,"amax_compute_algo":"most_recent","slots":4})"},
    {"dynamic, TransformerEngine's", R"({"policy":"te_current","slots":4})", true},
    {"dynamic, torchao's", R"({"policy":"torchao_dynamic","slots":4})", true},
    {"static, calibrated on 64 steps", R"({"policy":"transformer_engine","amax_history_len":64,"slots":4})", false,
     true},
};

constexpr int calibration_steps = 64, steps = 512;

struct Drift {
  const char* name;
  double (*magnitude)(int step);
};

constexpr Drift drifts[] = {
    {"steady", [](int) { return 1.0; }},
    {"doubles every 64 steps", [](int step) { return std::exp2(step / 64.0); }},
    {"halves every 64 steps", [](int step) { return std::exp2(-step / 64.0); }},
    {"32 times as large at every 50th", [](int step) { return step % 50 == 49 ? 32.0 : 1.0; }},
    {"16 times as large from half on", [](int step) { return step < steps / 2 ? 1.0 : 16.0; }},
};

void must(std::int32_t status, const tare_error& error) {
  if (status == TARE_OK) return;
  std::fprintf(stderr, "%s\n", error.message);
  std::exit(1);
}

/// Of a normal distribution.
class Normal {
 public:
  float next() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return static_cast<float>(radius * std::cos(2 * std::numbers::pi * uniform()));
  }

 private:
  double uniform() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (static_cast<double>(state_ >> 11) + 0.5) * 0x1p-53;
  }
  std::uint64_t state_ = 1;
};

/// Slots that go by one recipe, over as many tensors.
class Running {
 public:
  Running(const Recipe& recipe, std::size_t count, std::size_t tensors)
      : recipe_(recipe), bytes_(count * tensors), back_(count * tensors), count_(count) {
    must(tare_fp8_create(&fp8_, recipe.config, &error_), error_);
    for (std::uint32_t i = 0; i < tensors; ++i) slots_.push_back(i);
  }
  ~Running() { tare_fp8_destroy(fp8_); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void step(std::vector<float>& values) {
    const auto in = tensors_of(values.data(), TARE_F32);
    const auto out = tensors_of(bytes_.data(), TARE_F8E4M3FN);
    if (recipe_.looks_first) {
      must(tare_fp8_observe(fp8_, in.data(), slots_.data(), in.size(), nullptr, &error_), error_);
      must(tare_fp8_update(fp8_, nullptr, &error_), error_);
    }
    must(tare_fp8_quantize(fp8_, out.data(), in.data(), slots_.data(), in.size(), nullptr, &error_), error_);
  }

  /// What was quantised, in values again.
  const std::vector<float>& back() {
    const auto in = tensors_of(bytes_.data(), TARE_F8E4M3FN);
    const auto out = tensors_of(back_.data(), TARE_F32);
    must(tare_fp8_dequantize(fp8_, out.data(), in.data(), slots_.data(), in.size(), nullptr, &error_), error_);
    return back_;
  }

  void end_step() {
    if (!recipe_.looks_first) must(tare_fp8_update(fp8_, nullptr, &error_), error_);
  }

  void freeze() {
    tare_state* state = nullptr;
    must(tare_fp8_freeze(&state, fp8_, nullptr, &error_), error_);
    tare_fp8_destroy(fp8_);
    must(tare_fp8_create_from_state(&fp8_, state, nullptr, &error_), error_);
    tare_state_destroy(state);
  }

  [[nodiscard]] double scale() {
    const float* scale = nullptr;
    must(tare_fp8_scale_pointer(&scale, fp8_, TARE_FP8_SCALE, &error_), error_);
    return static_cast<double>(*scale);
  }

 private:
  template <class Item>
  std::vector<tare_tensor> tensors_of(Item* data, std::int32_t dtype) const {
    std::vector<tare_tensor> tensors;
    for (std::size_t i = 0; i < slots_.size(); ++i) tensors.push_back({data + i * count_, count_, dtype, 0});
    return tensors;
  }

  const Recipe& recipe_;
  std::vector<std::uint8_t> bytes_;
  std::vector<float> back_;
  std::vector<std::uint32_t> slots_;
  std::size_t count_;
  tare_fp8* fp8_ = nullptr;
  tare_error error_ = TARE_ERROR_INIT;
};

void tell_error(const Recipe& recipe, const Drift& drift) {
  constexpr std::size_t count = 4096;
  Running running(recipe, count, 1);
  Normal normal;
  std::vector<float> values(count);
  double wrong = 0, share = 0, cut = 0, gone = 0;
  for (int step = -calibration_steps; step < steps; ++step) {
    if (step == 0 && recipe.is_frozen) running.freeze();
    const double magnitude = step < 0 ? 1.0 : drift.magnitude(step);
    for (float& value : values) value = normal.next() * static_cast<float>(magnitude);
    running.step(values);
    const double scale = running.scale();
    const std::vector<float>& back = running.back();
    running.end_step();
    if (step < 0) continue;
    double difference = 0, whole = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = static_cast<double>(values[i]);
      const double off = static_cast<double>(back[i]) - value;
      difference += off * off;
      whole += value * value;
      cut += std::fabs(value) * scale > 448 * (1 + 0x1p-20) ? 1 : 0;
      gone += back[i] == 0 && value != 0 ? 1 : 0;
    }
    const double error = std::sqrt(difference / whole);
    wrong = std::max(wrong, error);
    share += error / steps;
  }
  std::printf("  %-36s %8.4f %8.4f %10.5f %% %10.5f %%\n", recipe.name, share, wrong, cut / steps / count * 100,
              gone / steps / count * 100);
}

void tell_time(std::size_t runs) {
  constexpr std::size_t count = std::size_t{4} << 20, tensors = 4;
  Normal normal;
  std::vector<float> values(count * tensors);
  for (float& value : values) value = normal.next();
  std::printf("a step of 4 tensors of 4,194,304 float32 on the CPU, in time of a processor\n");
  for (const Recipe& recipe : recipes) {
    Running running(recipe, count, tensors);
    if (recipe.is_frozen) running.freeze();
    std::vector<double> times;
    for (std::size_t i = 0; i < runs; ++i) {
      const std::clock_t begin = std::clock();
      running.step(values);
      running.end_step();
      times.push_back(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC * 1e3);
    }
    const tare::bench::Spread spread(times);
    std::printf("  %-36s %8.2f ms (%.2f to %.2f)\n", recipe.name, spread.median, spread.low, spread.high);
  }
}

}  // namespace

int main(int argc, char** argv) {
  tell_time(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 15);
  std::printf(
      "\nerror of normal values in e4m3, root mean square, as a share of theirs: %d steps behind %d without drift\n",
      steps, calibration_steps);
  std::printf("  %-36s %8s %8s %12s %12s\n", "", "mean", "worst", "cut off", "become 0");
  for (const Drift& drift : drifts) {
    std::printf("%s\n", drift.name);
    for (const Recipe& recipe : recipes) tell_error(recipe, drift);
  }
  return 0;
}
