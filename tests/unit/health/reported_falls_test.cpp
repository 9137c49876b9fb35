// Falls of the scale in logs that report every so many steps: where a report's edge lies changes nothing.
#include "lib/health/course.hpp"
#include "tests/catch.hpp"
#include "tests/unit/health/made_runs.hpp"

using namespace tare;
using tests::MadeRun;

namespace {

std::string message_of(MadeRun& run, std::string_view code) {
  for (const HealthFinding& finding : examine(run.trace(), {})) {
    if (finding.code == code) return finding.message;
  }
  return "no " + std::string(code);
}

/// DeepSpeed's lines of overflows, and its report of the ten steps that they lie in, which tells no scale.
void report(MadeRun& run, double& scale, int overflows) {
  for (int i = 0; i < overflows; ++i, scale /= 2) run.line(scale, scale / 2);
  run.interval({}, 10, static_cast<std::uint64_t>(overflows));
}

}  // namespace

TEST_CASE("twelve overflows in a row are a collapse wherever the edge of a report lies in them") {
  for (int before = 0; before <= 12; ++before) {
    CAPTURE(before);
    MadeRun run;
    run.interval(65536, 100, 0).interval(65536, 100, 0);
    double scale = 65536;
    for (const int overflows : {before, 12 - before}) {
      for (int i = 0; i < overflows; ++i) scale /= 2;
      run.interval(scale, 100, static_cast<std::uint64_t>(overflows));
    }
    run.interval(16, 100, 0).interval(16, 100, 0);
    const Course course = course_of(run.trace());
    REQUIRE(course.falls.size() == 1);
    CHECK(course.falls.front().steps == 12);
    const std::string steps = before == 0 || before == 12 ? "100" : "200";
    CHECK(message_of(run, "collapse") == "12 overflows within " + steps + " steps took the scale from 65536.0 to 16.0");
  }
}

TEST_CASE("overflows of which clean steps must lie between are no row") {
  MadeRun run;
  run.interval(65536, 100, 0).interval(4096, 100, 4).interval(256, 100, 4).interval(16, 100, 4);
  run.interval(16, 100, 0);
  const Course course = course_of(run.trace());
  REQUIRE(course.falls.size() == 1);
  CHECK(course.falls.front().steps == 108);  // of the middle report all
  CHECK(course.falls.front().most_steps == 300);
  CHECK_FALSE(course.falls.front().is_in_a_row());
}

TEST_CASE("a report between DeepSpeed's lines of overflows does not cut a collapse in two") {
  for (int before = 1; before <= 9; ++before) {
    CAPTURE(before);
    MadeRun run("deepspeed-log");
    run.interval(65536, 10, 0).interval({}, 10, 0);
    double scale = 65536;
    report(run, scale, before);
    report(run, scale, 12 - before > 10 ? 10 : 12 - before);
    if (scale > 16) report(run, scale, 1);
    run.interval({}, 10, 0).interval({}, 10, 0);
    const Course course = course_of(run.trace());
    REQUIRE(course.falls.size() == 1);
    CHECK(course.falls.front().top == 65536);
    CHECK(course.falls.front().bottom == 16);
    CHECK(course.falls.front().overflows == 12);
    CHECK_THAT(message_of(run, "collapse"), Catch::Contains("12 overflows"));
  }
}

TEST_CASE("a whole report without an overflow parts DeepSpeed's lines") {
  MadeRun run("deepspeed-log");
  run.interval(65536, 10, 0);
  double scale = 65536;
  report(run, scale, 6);
  run.interval({}, 10, 0);
  report(run, scale, 6);
  CHECK(course_of(run.trace()).falls.size() == 2);
}

TEST_CASE("an interval that leaves the scale where it was is not where a collapse began") {
  MadeRun run;  // one overflow that a growth made good, and then nothing but overflows
  run.interval(16384, 5000, 0).interval(16384, 5000, 1).interval(1, 5000, 900).interval(1, 5000, 5000);
  const Course course = course_of(run.trace());
  REQUIRE(course.falls.size() == 2);
  CHECK(course.stretches[course.falls[1].first].first.step == 15000);
}

TEST_CASE("a start of any height that settles is a search, and one that goes on falling is none") {
  MadeRun settled, falling;
  settled.halvings(0x1p32, 26).clean(64, 500);
  CHECK(message_of(settled, "initial-search") ==
        "the run began with 26 overflows that took the scale from 4294967296.0 to 64.0: dynamic scaling looks for its "
        "scale so");
  falling.halvings(0x1p32, 26);
  CHECK(message_of(falling, "initial-search") == "no initial-search");
}

TEST_CASE("what the scale was before a first report of nothing but overflows is not made up") {
  MadeRun run;
  run.interval(128, 10, 10).interval(128, 100, 0).interval(128, 100, 0);
  CHECK_THAT(message_of(run, "initial-search"), Catch::Contains("from at least 256.0 to 128.0"));
}

TEST_CASE("few overflows on both sides of a long report's edge are taken for no row") {
  MadeRun megatron, deepspeed("deepspeed-log");
  megatron.interval(131072, 100, 0).interval(8192, 100, 4).interval(512, 100, 4).interval(512, 100, 0);
  CHECK(message_of(megatron, "collapse") == "no collapse");
  deepspeed.interval(131072, 100, 0);
  for (const double scale : {131072., 8192.}) {
    for (int i = 0; i < 4; ++i) deepspeed.line(scale / (1 << i), scale / (2 << i));
    deepspeed.interval({}, 100, 4);
  }
  deepspeed.interval({}, 100, 0);
  CHECK(message_of(deepspeed, "collapse") == "no collapse");
}

TEST_CASE("a first checkpoint that tells of few overflows is not where a later collapse began") {
  MadeRun run;  // nothing tells what the scale was before it
  run.interval(16384, 5000, 6).interval(1, 5000, 900).interval(1, 5000, 5000);
  const Course course = course_of(run.trace());
  REQUIRE(course.falls.size() == 2);
  CHECK(course.falls[1].top == 16384);
  CHECK(course.stretches[course.falls[1].first].first.step == 10000);
}
