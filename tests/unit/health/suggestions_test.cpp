// What readings suggest: the run's own parameters are always among it.
#include <algorithm>
#include <random>

#include "lib/health/readings.hpp"
#include "tests/catch.hpp"
#include "tests/unit/health/made_runs.hpp"

using namespace tare;
using tests::MadeRun;

namespace {

struct Told {
  std::uint64_t steps_a_report = 1;
  bool has_scales = true;  ///< else only lines of overflows tell the scale
};

/// GradScaler's rule over random overflows, told in reports.
struct Random {
  Random(std::mt19937& random, std::int64_t own_window, const Told& told) : window(own_window) {
    double scale = 65536;
    std::int64_t clean = 0;
    std::uint64_t skipped = 0;
    const std::uint32_t rarity = 4 + static_cast<std::uint32_t>(random() % 60);
    for (std::uint64_t step = 1; step <= 600; ++step) {
      const bool is_overflow = random() % rarity == 0 && scale > 4;
      if (is_overflow) {
        if (!told.has_scales) made.line(scale, scale / 2);
        scale /= 2;
        clean = 0;
        ++skipped;
      } else if (++clean == window) {
        scale *= 2;
        clean = 0;
        ++growths;
      }
      if (step % told.steps_a_report != 0) continue;
      made.interval(told.has_scales ? std::optional(scale) : std::nullopt, told.steps_a_report, skipped);
      skipped = 0;
    }
  }

  MadeRun made;
  std::int64_t window;
  int growths = 0;
};

bool holds(const std::vector<double>& values, double wanted) {
  return std::ranges::find(values, wanted) != values.end();
}

}  // namespace

TEST_CASE(
    "a run's own window is among those that are possible, told step by step, in intervals, or by overflows alone") {
  std::mt19937 random(5);
  std::size_t judged = 0;
  for (int run = 0; run < 6000; ++run) {
    const auto window = static_cast<std::int64_t>(2 + random() % 40);
    const Told told{1 + random() % 12, random() % 2 == 0};
    Random one(random, window, told);
    const Suggestions found = suggestions_of(scale_readings(one.made.trace()));
    if (!found.has_grown || found.are_windows_cut) continue;
    INFO("window " << window << ", " << told.steps_a_report << " steps a report"
                   << (told.has_scales ? "" : ", without scales") << ", run " << run);
    CAPTURE(found.windows, found.longest_clean);
    CHECK(holds(found.windows, static_cast<double>(window)));
    CHECK(found.longest_clean <= static_cast<double>(window));
    ++judged;
  }
  CHECK(judged > 3000);
}
