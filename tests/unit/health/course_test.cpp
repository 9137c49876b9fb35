// What the scale went through: rows of overflows, ways down, and what growths and back-offs were seen to need.
#include "lib/health/course.hpp"

#include "tests/catch.hpp"
#include "tests/unit/health/made_runs.hpp"

using namespace tare;
using tests::MadeRun;

namespace {

std::vector<std::uint64_t> overflows_of(const Course& course) {
  std::vector<std::uint64_t> counts;
  for (const Fall& fall : course.falls) counts.push_back(fall.overflows);
  return counts;
}

using Counts = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE(
    "overflows that stand side by side are one row, and those with steps between them that nobody tells are not") {
  const auto row = [](std::int64_t unseen) {
    MadeRun run;
    run.clean(64, 5).overflow(64, 64).overflow(64, 64).unseen(unseen).overflow(64, 64).overflow(64, 32);
    return overflows_of(course_of(run.trace()));
  };
  CHECK(row(0) == Counts{4});
  CHECK(row(30) == Counts{2, 2});
}

TEST_CASE("a growth between overflows, a clean step, and a new start of the run each end a row") {
  MadeRun grown, clean, resumed;
  grown.clean(64).overflow(64, 32).overflow(64, 32);  // it grew unseen
  CHECK(overflows_of(course_of(grown.trace())) == Counts{1, 1});
  clean.clean(64).overflow(64, 32).clean(32).overflow(32, 16);
  CHECK(overflows_of(course_of(clean.trace())) == Counts{1, 1});
  CHECK(course_of(clean.trace()).falls.front().clean_after == 1);
  resumed.clean(64).overflow(64, 32).resume(2).overflow(32, 16);
  CHECK(overflows_of(course_of(resumed.trace())) == Counts{1, 1});
}

TEST_CASE("a scale that came down to the last power of two by one overflow was skipped once") {
  Trace trace;
  trace.segments.emplace_back();
  trace.sources.push_back({"a.log", "log", ""});
  trace.steps.push_back({.step = 1, .after = 0x1p1023, .overflow = true});
  const auto stretches = course_of(trace).stretches;
  REQUIRE(stretches.size() == 1);
  CHECK(stretches.front().overflows == 1);
}

TEST_CASE("a row says how far it led, how long it was, and whether the run ended with it") {
  MadeRun run;
  run.clean(1024, 200).halvings(1024, 3).clean(128, 7).halvings(128, 2).dies();
  const auto falls = course_of(run.trace()).falls;
  REQUIRE(falls.size() == 2);
  CHECK(falls[0].top == 1024);
  CHECK(falls[0].bottom == 128);
  CHECK(falls[0].octaves() == 3);
  CHECK(falls[0].steps == 3);
  CHECK(falls[0].clean_after == 7);
  CHECK_FALSE(falls[0].is_at_start);
  CHECK_FALSE(falls[0].is_fatal);
  CHECK(falls[1].is_fatal);
}

TEST_CASE("a way down is at the start of a run as long as nothing grew and no 64 steps were clean") {
  const auto is_at_start = [](std::int64_t clean, bool has_grown) {
    MadeRun run;
    run.clean(65536, clean);
    if (has_grown) run.growth(65536, 131072);
    run.overflow(has_grown ? 131072 : 65536, 32768);
    return course_of(run.trace()).falls.front().is_at_start;
  };
  CHECK(is_at_start(63, false));
  CHECK_FALSE(is_at_start(64, false));
  CHECK_FALSE(is_at_start(10, true));
}

TEST_CASE(
    "the clean steps to a growth are counted from the overflow or growth before it, with those that nobody tells") {
  MadeRun run;
  run.clean(64, 9).growth(64, 128).clean(128, 19).growth(128, 256).overflow(256, 128).clean(128, 9).growth(128, 256);
  run.clean(256, 4).unseen(30).clean(256, 5).growth(256, 512);
  const Course course = course_of(run.trace());
  std::vector<double> clean;
  for (const ToldGrowth& growth : course.growths) clean.push_back(growth.clean);
  CHECK(clean == std::vector<double>{20, 10, 40});  // nothing says what came before the first
  CHECK(course.window == 10.0);
  CHECK(course.longest_window == 40.0);
  MadeRun resumed;
  resumed.clean(64, 9).growth(64, 128).clean(128, 5).resume(15).clean(128, 5).growth(128, 256);
  CHECK(course_of(resumed.trace()).growths.empty());
}

TEST_CASE("the hysteresis is the most overflows that one scale was seen to take, unless they are eight") {
  const auto hysteresis = [](int staying, double after) {
    MadeRun run;
    run.clean(64, 5);
    for (int i = 0; i < staying; ++i) run.overflow(64, 64);
    run.overflow(64, after);
    return course_of(run.trace()).hysteresis;
  };
  CHECK(hysteresis(0, 32) == 1);
  CHECK(hysteresis(2, 32) == 3);
  CHECK(hysteresis(7, 32) == 8);
  CHECK(hysteresis(8, 32) == 1);
  CHECK(hysteresis(2, 64) == 1);  // it never fell
}

TEST_CASE("a growth is worth as many back-offs as bring its scale back") {
  const auto worth = [](double growth, double backoff) {
    MadeRun run;
    run.clean(64, 5).growth(64, 64 * growth).overflow(64 * growth, 64 * growth * backoff);
    return course_of(run.trace()).backoffs_a_growth;
  };
  CHECK(worth(2, 0.5) == 1);
  CHECK(worth(2, 0.8) == 4);
  CHECK(worth(4, 0.5) == 2);
  CHECK(worth(1024, 0.5) == 8);
  CHECK(worth(1, 0.5) == 1);
}

TEST_CASE("a fall in steps of which none was skipped is counted as a contradiction, the first with its place") {
  MadeRun run;
  run.interval(64, 10, 0).interval(32, 10, 0).interval(16, 10, 0).interval(8, 10, 1);
  const Course course = course_of(run.trace());
  CHECK(course.contradictions == 2);
  CHECK(course.first_contradiction.step == 20);
}
