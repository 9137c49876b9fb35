// What is known of each step of a trace, and what is counted of all.
#include "lib/health/observed.hpp"

#include <limits>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/unit/health/made_runs.hpp"

using namespace tare;
using tests::MadeRun;

namespace {

constexpr double anything = std::numeric_limits<double>::infinity();
using Steps = std::vector<ObservedSteps>;

ObservedSteps clean(double scale, std::uint64_t steps = 1) {
  return {scale, anything, steps, false};
}
ObservedSteps overflow(double scale, std::uint64_t steps = 1) {
  return {0, scale, steps, false};
}
ObservedSteps unknown(std::uint64_t steps) {
  return {0, anything, steps, false};
}

}  // namespace

TEST_CASE("steps that are told are clean up to their scale, or overflow from it on, and are counted") {
  MadeRun made;
  made.clean(1024, 5).overflow(1024, 512).clean(512, 4);
  const ObservedRun run = observe(made.trace(), 600);
  CHECK(run.steps == Steps{clean(1024, 5), overflow(1024), clean(512, 4)});
  CHECK(run.first_scales == std::vector<double>{1024});
  CHECK(run.count == 10);
  CHECK(run.overflows == 1);
  CHECK(run.unknown == 0);
  CHECK(run.taken_as_clean == 0);
  CHECK(run.incurable == 0);
  CHECK(run.below == 4);
  CHECK(run.log2_sum == 6 * 10 + 4 * 9);
  CHECK(run.log2_count == 10);
  CHECK(observe(made.trace(), 512).below == 0);
  CHECK(observe(made.trace(), 1024).below == 4);
}

TEST_CASE("an interval tells how many of its steps were skipped, and which only where it is all or none") {
  MadeRun made;
  made.interval(1024, 10, 0).interval(512, 10, 3).interval(512, 10, 0).interval(32, 4, 4);
  const ObservedRun run = observe(made.trace(), 0);
  CHECK(run.steps == Steps{clean(1024, 10), unknown(10), clean(512, 10), overflow(512, 4)});
  CHECK(run.count == 34);
  CHECK(run.overflows == 7);
  CHECK(run.unknown == 10);
  CHECK(run.taken_as_clean == 0);
}

TEST_CASE("where only scales are told a fall is an overflow, what stays is taken as clean, and gaps are unknown") {
  MadeRun made;
  made.sample(1, 1024).sample(2, 1024).sample(3, 512).sample(4, 1024).sample(7, 1024);
  const ObservedRun run = observe(made.trace(), 0);
  CHECK(run.steps == Steps{clean(1024, 2), overflow(1024), clean(512), unknown(2), clean(1024)});
  CHECK(run.count == 7);
  CHECK(run.overflows == 1);
  CHECK(run.unknown == 2);
  CHECK(run.taken_as_clean == 3);
  CHECK(run.first_scales == std::vector<double>{1024});
}

TEST_CASE("overflows that lines tell before their interval's report are counted once") {
  MadeRun made;
  made.interval(1024, 10, 0).line(1024, 512).line(512, 256).interval({}, 10, 2).interval(256, 10, 0);
  const ObservedRun run = observe(made.trace(), 0);
  CHECK(run.count == 30);
  CHECK(run.overflows == 2);
  CHECK(run.unknown == 10);
}

TEST_CASE("of a trace of overflows alone nothing is said, and of one that tells no scale that it tells none") {
  MadeRun made;
  CHECK_THROWS_WITH(observe(made.trace(), 0), "nothing of what was read tells of a loss scale");
  made.overflow(1024, 512).overflow(512, 256);
  CHECK_THROWS_WITH(observe(made.trace(), 0), Catch::Contains("overflows alone"));
  made.clean(256);
  CHECK(observe(made.trace(), 0).overflows == 2);
}

TEST_CASE(
    "an overflow that a log begins with does not tell which scale was too high, nor which one the run began with") {
  MadeRun made;
  made.norm(1024, 1.0F, 1).norm(1024, 1.0F).interval(1024, 3, 0);
  const ObservedRun run = observe(made.trace(), 0);
  CHECK(run.steps == Steps{unknown(1), clean(1024, 4)});
  CHECK(run.first_scales == std::vector<double>{1024, 2048});
  MadeRun interval;
  interval.interval(1024, 3, 2).interval(1024, 3, 0);
  CHECK(observe(interval.trace(), 0).first_scales == std::vector<double>{1024, 2048, 4096});
}

TEST_CASE("a run that was resumed with another scale does not go on with the one before") {
  MadeRun made;
  made.norm(16, 1.0F).norm(16, 1.0F).resume(2).norm(32768, 1.0F, 1).norm(32768, 1.0F);
  CHECK(observe(made.trace(), 0).steps == Steps{clean(16, 2), unknown(1), clean(32768)});
}

TEST_CASE("behind a gap a step is not taken for one at the scale before it, and a fall in it counts") {
  MadeRun made;
  made.sample(1, 1024).sample(2, 1024).sample(6, 256).sample(7, 256);
  const ObservedRun run = observe(made.trace(), 512);
  CHECK(run.steps == Steps{clean(1024, 2), unknown(3), clean(256, 2)});
  CHECK(run.overflows == 1);
  CHECK(run.untold_skips == 2);
  CHECK(run.untold_scales == 3);
  CHECK(run.below == 2);
}

TEST_CASE("a scale that is printed rounded is no reading, and the one before it is none any more") {
  MadeRun made;
  made.norm(1024, 1.0F).average(0.1).interval({}, 10, 0);
  const ObservedRun run = observe(made.trace(), 0);
  CHECK(run.steps.front() == clean(1024));
  for (std::size_t i = 1; i < run.steps.size(); ++i) CHECK(run.steps[i].clean_to == 0);
}

TEST_CASE("a scale of 0 is below any other, and has no logarithm") {
  MadeRun made;
  made.clean(1024, 2).clean(0, 2);
  const ObservedRun run = observe(made.trace(), 512);
  CHECK(run.below == 2);
  CHECK(run.log2_count == 2);
}
