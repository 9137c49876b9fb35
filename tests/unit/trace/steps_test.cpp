// Steps are kept as changes, and come back as they went in.
#include "lib/trace/steps.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "tests/catch.hpp"

using namespace tare;

namespace {

/// Changes one thing about a step, as logs do: mostly nothing.
void change(TraceStep& step, std::mt19937_64& random) {
  switch (random() % 12) {
    case 0:
      step.step = static_cast<std::int64_t>(random());
      break;
    case 1:
      step.step.reset();
      break;
    case 2:
      step.scale = std::ldexp(1.0, static_cast<int>(random() % 80) - 40);
      break;
    case 3:
      step.after = 0.1 * static_cast<double>(random() % 100);
      break;
    case 4:
      step.overflow = random() % 2 == 0;
      break;
    case 5:
      step.skipped = random() % 5;
      break;
    case 6:
      step.segment = static_cast<std::uint32_t>(random() % 4);
      break;
    case 7:
      step.span = random() % 50;
      break;
    case 8:
      step.line = random();
      break;
    case 9:
      step.fatal = !step.fatal;
      break;
    case 10:
      step.smoothed = std::numeric_limits<double>::infinity();
      step.nan = 3;
      break;
    default:
      step.scale.reset();
      step.loss = static_cast<float>(random() % 8);
      step.grad_norm.reset();
  }
}

}  // namespace

TEST_CASE("steps come back as they went in, whatever changes from one to the next") {
  std::mt19937_64 random(27);
  for (unsigned often = 0; often < 7; ++often) {
    TraceSteps steps;
    std::vector<TraceStep> expected;
    TraceStep step;
    for (int i = 0; i < 2000; ++i) {
      if (random() % 7 < often) {
        change(step, random);
      } else {
        if (step.step) step.step = static_cast<std::int64_t>(static_cast<std::uint64_t>(*step.step) + 3);
        step.line += 2;
      }
      expected.push_back(step);
      REQUIRE(steps.push_back(step));
    }
    REQUIRE(steps.size() == expected.size());
    std::size_t at = 0;
    for (const TraceStep& found : steps) {
      const bool is_same = found == expected[at];
      REQUIRE(is_same);
      ++at;
    }
    REQUIRE(at == expected.size());
  }
}

TEST_CASE("a number that is NaN comes back as NaN, and is told") {
  TraceSteps steps;
  REQUIRE(steps.push_back({.step = 1, .after = std::nan(""), .loss = std::nanf("")}));
  REQUIRE(steps.push_back({.step = 2, .after = std::nan("")}));
  const TraceStep first = *steps.begin();
  REQUIRE(first.after.has_value());
  CHECK(std::isnan(*first.after));
  REQUIRE(first.loss.has_value());
  CHECK(std::isnan(*first.loss));
  CHECK_FALSE((*++steps.begin()).loss.has_value());
}

TEST_CASE("of millions of losses every so many is kept, the last of its neighbours, and of norms the largest") {
  TraceSteps steps;
  const std::size_t count = TraceSteps::numbers_most + 3;
  for (std::size_t i = 0; i < count; ++i) {
    const float norm = i == 6 ? 100.0F : 1.0F;
    REQUIRE(steps.push_back({.step = static_cast<std::int64_t>(i), .loss = static_cast<float>(i), .grad_norm = norm}));
  }
  REQUIRE(steps.told_every() == 2);
  std::size_t told = 0;
  for (const TraceStep& step : steps) {
    if (!step.loss) continue;
    ++told;
    REQUIRE(*step.loss == static_cast<float>(*step.step));
    REQUIRE(*step.grad_norm == (*step.step == 7 ? 100.0F : 1.0F));
  }
  CHECK(told == (count + 1) / 2);
}
