// Runs that were started again: what of them is judged, and whether their scaler was restored.
#include <algorithm>

#include "tests/catch.hpp"
#include "tests/unit/health/made_runs.hpp"

using namespace tare;
using tests::MadeRun;

namespace {

bool is_told(const std::vector<std::string>& codes, const char* code) {
  return std::ranges::find(codes, code) != codes.end();
}

}  // namespace

TEST_CASE("a collapse of a branch that a resumed run left is not the run's") {
  MadeRun run("deepspeed-log");
  for (int i = 0; i < 300; ++i) run.interval({}, 10, 0);
  run.line(8192, 4096).interval({}, 10, 1);
  for (double scale = 4096; scale > 1; scale /= 2) run.line(scale, scale / 2);
  run.resume(3000);
  for (int i = 0; i < 100; ++i) run.interval({}, 10, 0);
  CHECK(run.codes() == std::vector<std::string>{"healthy"});
}

TEST_CASE("a run that resumes with another scale than it left was not restored") {
  MadeRun run;
  CHECK(is_told(run.clean(1024, 500).resume(400).clean(65536, 10).codes(), "reset-on-resume"));
  MadeRun fine;
  CHECK_FALSE(is_told(fine.clean(1024, 500).resume(400).clean(1024, 10).codes(), "reset-on-resume"));
}

TEST_CASE("a scaler that a resume lost is told of, though only what a step left is told") {
  const auto codes_of = [](double first) {
    MadeRun run;
    run.sample(1, 32768);
    for (std::int64_t step = 2; step <= 500; ++step) run.sample(step, 1024);
    run.resume(400);
    for (std::int64_t step = 401; first >= 1024; first /= 2) run.sample(step++, first);
    return run.codes();
  };
  CHECK(is_told(codes_of(32768), "reset-on-resume"));
  CHECK_FALSE(is_told(codes_of(2048), "reset-on-resume"));
  CHECK_FALSE(is_told(codes_of(1024), "reset-on-resume"));
}

TEST_CASE("a run that resumed at the end of its log, and lost its scaler, leaps to where it began") {
  const auto run_to = [](double scale) {
    MadeRun run("deepspeed-log");
    run.halvings(65536, 6).clean(1024, 200);
    for (int i = 0; i < 30; ++i) run.interval({}, 10, 0);
    return run.line(scale, scale / 2).interval({}, 10, 1).codes();
  };
  CHECK(is_told(run_to(65536), "reset-on-resume"));
  CHECK_FALSE(is_told(run_to(8192), "reset-on-resume"));  // as far as three windows of 100 lead
}

TEST_CASE("growths between a checkpoint and what is told next are not another scaler's") {
  MadeRun run("deepspeed-log");
  run.line(65536, 512).interval({}, 10, 1);
  for (int i = 0; i < 100; ++i) run.interval({}, 10, 0);
  run.resume(1010);
  for (int i = 0; i < 300; ++i) run.interval({}, 10, 0);
  CHECK_FALSE(is_told(run.line(4096, 2048).interval({}, 10, 1).codes(), "reset-on-resume"));
}

TEST_CASE("the search of a scaler that began anew is no collapse") {
  MadeRun run;
  run.halvings(65536, 8).clean(256, 500).resume(400).halvings(65536, 8).clean(256, 500);
  CHECK(is_told(run.codes(), "reset-on-resume"));
  CHECK_FALSE(is_told(run.codes(), "collapse"));
}

TEST_CASE("a scale that reports of every hundredth step tell may have grown in between, whatever its window") {
  const auto run_told_every = [](std::int64_t steps) {
    MadeRun run;
    std::int64_t step = 1;
    for (const double scale : {65536., 1024., 1024., 32768., 32768.}) run.sample(step += steps, scale);
    return run.codes();
  };
  CHECK_FALSE(is_told(run_told_every(100), "reset-on-resume"));
  CHECK(is_told(run_told_every(1), "reset-on-resume"));
}

TEST_CASE("a scaler that a resume lost shows in skipped steps, though its search ended before the first report") {
  const auto run_with = [](double scale, std::uint64_t skipped, bool goes_back) {
    MadeRun run;
    run.interval(32768, 100, 2);
    for (int i = 0; i < 10; ++i) run.interval(1024, 100, i == 0 ? 5 : 0);
    if (goes_back) run.resume(1000);
    return run.interval(scale, 100, skipped).interval(scale, 100, 0).codes();
  };
  for (const bool goes_back : {false, true}) {
    CAPTURE(goes_back);
    CHECK(is_told(run_with(1024, 7, goes_back), "reset-on-resume"));
    CHECK_FALSE(is_told(run_with(512, 2, goes_back), "reset-on-resume"));
    CHECK_FALSE(is_told(run_with(1024, 1, goes_back), "reset-on-resume"));
  }
}

TEST_CASE("skipped steps at a floor, or at a static scale, are no sign of another scaler") {
  const auto run_from = [](double start) {
    MadeRun run;
    run.interval(start, 100, 0).interval(128, 100, 10).interval(128, 100, 9).interval(128, 100, 9).resume(300);
    return run.interval(128, 100, 9).interval(128, 100, 9).codes();
  };
  CHECK_FALSE(is_told(run_from(65536), "reset-on-resume"));
  CHECK_FALSE(is_told(run_from(128), "reset-on-resume"));
}
