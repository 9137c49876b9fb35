// What a trace that tells little proves: samples, bare scales, reports without a scale.
#include <algorithm>

#include "tests/catch.hpp"
#include "tests/unit/health/made_runs.hpp"

using namespace tare;
using tests::MadeRun;

namespace {

bool is_concluded(const std::vector<std::string>& codes, const char* code) {
  return std::ranges::find(codes, code) != codes.end();
}

}  // namespace

TEST_CASE("samples at one scale do not prove that it stayed there, as a growth that overflows at once is in none") {
  MadeRun run;
  for (std::int64_t step = 50; step <= 40'000; step += 50) run.sample(step, 16384);
  CHECK(run.codes() == std::vector<std::string>{"healthy"});
}

TEST_CASE("how many steps were skipped is said where something tells of skipped steps, and not of bare scales") {
  const auto said = [](MadeRun& run) { return examine(run.trace(), {}).back().message; };
  MadeRun told, bare, fell;
  told.clean(1024, 20);
  CHECK(said(told) == "20 steps are told of, 0 of them skipped: a healthy course");
  for (std::int64_t step = 1; step <= 20; ++step) bare.sample(step, 1024);
  CHECK(said(bare) == "20 steps are told of: a healthy course");
  for (std::int64_t step = 1; step <= 20; ++step) fell.sample(step, step < 10 ? 1024 : 512);
  CHECK(said(fell) == "20 steps are told of, at least 1 of them skipped: a healthy course");
}

TEST_CASE("a scale that overflows on both sides show to be low is low in the steps between them") {
  const auto codes_of = [](double scale) {
    MadeRun run("deepspeed-log");
    run.line(1024, 512).interval({}, 10, 1);
    for (int i = 0; i < 300; ++i) run.interval({}, 10, 0);
    for (int i = 0; i < 3; ++i) {
      run.line(scale, scale / 2).interval({}, 10, 1);
      for (int k = 0; k < 100; ++k) run.interval({}, 10, 0);
    }
    return run.codes();
  };
  CHECK(is_concluded(codes_of(4), "low-scale"));
  CHECK_FALSE(is_concluded(codes_of(16), "low-scale"));
}
