// Logs that print means or medians of the scale (BEiT, MAE, VideoMAE, mmengine, ESPnet): what the doctor says of them.
#include <cmath>
#include <limits>

#include "lib/health/rules.hpp"
#include "tests/catch.hpp"
#include "tests/unit/health/made_runs.hpp"

using namespace tare;
using tests::MadeRun;

namespace {

using Codes = std::vector<std::string>;

MadeRun averages(std::initializer_list<double> scales) {
  MadeRun run("metric-logger");
  for (const double scale : scales) run.average(scale);
  return run;
}

}  // namespace

TEST_CASE("a log that tells averages of the scale alone is said to be one, with what they are") {
  MadeRun run = averages({32768, 11170.9, 8192});
  const auto findings = examine(run.trace(), {});
  REQUIRE(findings.size() == 1);
  CHECK(findings.front().code == "averages-alone");
  CHECK(findings.front().step == 10);
  CHECK(findings.front().message ==
        "3 reports of a scale that is an average, or rounded, 8192.0 to 32768.0: neither a step's own scale nor which "
        "steps were "
        "skipped is known");
}

TEST_CASE(
    "averages that fall eight halvings, to below 16, and stay there are a collapse that began where they first were") {
  MadeRun run = averages({65536, 65536, 900, 2, 0.25, 0.0625});
  const auto findings = examine(run.trace(), {});
  REQUIRE(findings.front().code == "collapse");
  CHECK(findings.front().step == 40);
  CHECK(findings.front().line == 4);
  CHECK(findings.front().message ==
        "the scale fell from 65536.0 to 0.0625 and stays there, by what 3 reports print of it");
  CHECK(averages({65536, 0}).codes() == Codes{"collapse", "averages-alone"});
  CHECK(averages({2048, 8}).codes() == Codes{"collapse", "averages-alone"});
  CHECK(averages({2048, 8.5}).codes() == Codes{"averages-alone"});
  CHECK(averages({65536, 0.5, 0.5, 16}).codes() == Codes{"averages-alone"});
}

TEST_CASE("averages that are inf or nan at the end are a broken scale, and those that were it once are not") {
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const double broken : {infinity, nan}) {
    MadeRun run = averages({8192, 65536, broken, broken});
    const auto findings = examine(run.trace(), {});
    REQUIRE(findings.size() == 2);
    CHECK(findings[0].code == "broken-scale");
    CHECK(findings[0].step == 30);
    CHECK_THAT(findings[0].message, Catch::Contains("which was 65536.0 at most") && Catch::Contains("2 reports"));
    CHECK_THAT(findings[1].message, Catch::Contains("rounded, 8192.0 to 65536.0:"));
    CHECK(averages({broken}).codes() == Codes{"broken-scale", "averages-alone"});
    CHECK(averages({8192, broken, 8192}).codes() == Codes{"averages-alone"});
    CHECK(averages({65536, broken, 0}).codes() == Codes{"collapse", "averages-alone"});
  }
}

TEST_CASE("averages below 8 in three reports and at the end are a low scale") {
  CHECK(averages({4, 2, 1}).codes() == Codes{"low-scale", "averages-alone"});
  CHECK(averages({4, 2}).codes() == Codes{"averages-alone"});
  CHECK(averages({4, 2, 8}).codes() == Codes{"averages-alone"});
  CHECK(averages({1}).codes() == Codes{"averages-alone"});
  CHECK(averages({0}).codes() == Codes{"low-scale", "averages-alone"});
}

TEST_CASE("averages that are 1 in every report are of a run without a scaler, as ESPnet prints it, and no low scale") {
  MadeRun run = averages({1, 1, 1, 1});
  CHECK(run.codes() == Codes{"not-scaled"});
  CHECK(examine(run.trace(), {}).front().message ==
        "the scale is printed as 1 throughout (4 reports): bfloat16 or float32, which need none");
  CHECK(averages({2, 1, 1, 1}).codes() == Codes{"low-scale", "averages-alone"});
}

TEST_CASE("averages beside steps whose scale is told say nothing of their own") {
  MadeRun run = averages({65536, 0.5, 0.5, 0.5});
  run.clean(65536, 200);
  CHECK(run.codes() == Codes{"healthy"});
}

TEST_CASE("averages that a later start of the run overwrote do not count") {
  MadeRun run = averages({65536, 65536, 1, 0.5, 0.25});
  run.resume(20).average(65536).average(65536).average(65536).average(65536);
  CHECK(run.codes() == Codes{"averages-alone"});
}

TEST_CASE("gradient norms that are no number in three reports without a skipped step are told, two are not") {
  for (const float lost : {NAN, INFINITY}) {
    MadeRun run("megatron-log");
    for (int i = 0; i < 50; ++i) run.norm(1, 1.5F);
    run.norm(1, lost).norm(1, lost);
    CHECK(run.codes() == Codes{"not-scaled", "healthy"});
    run.norm(1, lost);
    const auto findings = examine(run.trace(), {});
    CHECK(findings.front().code == "nan-gradients");
    CHECK(findings.front().step == 51);
    CHECK(findings.front().severity == Severity::error);
  }
}

TEST_CASE("a norm that is no number is an overflow's where a step was skipped, or the scale fell, or nobody counts") {
  MadeRun skipped("megatron-log");
  for (double scale = 65536; scale > 4096; scale /= 2) skipped.norm(scale / 2, NAN, 1);
  CHECK(skipped.norm(4096, 1.5F).codes() == Codes{"initial-search", "healthy"});
  MadeRun uncounted("megatron-log");
  uncounted.norm(65536, 1.5F);
  for (double scale = 65536; scale > 4096; scale /= 2) uncounted.norm(scale / 2, NAN);
  for (const HealthFinding& finding : examine(uncounted.trace(), {})) CHECK(finding.code != "nan-gradients");
  MadeRun silent("jsonl");
  for (int i = 0; i < 5; ++i) silent.loss(65536, 2.0F, NAN);
  for (const HealthFinding& finding : examine(silent.trace(), {})) CHECK(finding.code != "nan-gradients");
}

TEST_CASE("a scale that is too small from the first line on is said to be so, and not to have gone there") {
  MadeRun run("icefall-log");
  CHECK(examine(run.clean(1.25e-26).trace(), {}).front().message ==
        "the scale is 1.25e-26: no gradient of float16 survives that");
}

TEST_CASE("a log of overflows alone is not called a healthy course of steps") {
  MadeRun run("deepspeed-log", false);
  run.halvings(65536, 5);
  const auto findings = examine(run.trace(), {});
  CHECK(findings.back().message ==
        "5 overflows are told of, and the scale of no step without: nothing in their course is wrong");
}

TEST_CASE("a run whose scale fell below what its log has decimals for is not healthy") {
  for (const double printed : {0.1, 0.0}) {
    MadeRun run;
    for (int i = 0; i < 5; ++i) run.interval(65536, 20, 0);
    for (int i = 0; i < 5; ++i) run.average(printed);
    const std::vector<std::string> codes = run.codes();
    CHECK(std::ranges::count(codes, "collapse") == 1);
    CHECK(std::ranges::count(codes, "healthy") == 0);
  }
}

TEST_CASE("a scale that is told again behind rounded ones is where the run ends") {
  MadeRun run;
  run.interval(65536, 20, 0).average(0.1).average(0.1).interval(65536, 20, 0);
  CHECK(std::ranges::count(run.codes(), "collapse") == 0);
}
