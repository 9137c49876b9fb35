// Each rule: a course on which it speaks, and the nearest on which it must not.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/rule/policy.hpp"
#include "kernels/rule/running.hpp"
#include "lib/health/rules.hpp"
#include "tests/catch.hpp"
#include "tests/unit/health/made_runs.hpp"

using namespace tare;
using tests::MadeRun;

namespace {

using Codes = std::vector<std::string>;

bool has(const Codes& codes, std::string_view code) {
  return std::ranges::find(codes, code) != codes.end();
}

/// A run that went well for long, at that scale.
MadeRun healthy(double scale = 65536) {
  MadeRun run;
  return run.clean(scale, 2000).overflow(scale, scale / 2).clean(scale / 2, 2000);
}

}  // namespace

TEST_CASE("eight overflows in a row behind the start are a collapse, seven are not") {
  CHECK(has(healthy().halvings(32768, 8).clean(128, 50).codes(), "collapse"));
  CHECK_FALSE(has(healthy().halvings(32768, 7).clean(256, 50).codes(), "collapse"));
}

TEST_CASE("five overflows in a row are a collapse where they end below 2^4") {
  CHECK(has(healthy(1024).halvings(256, 5).clean(8, 50).codes(), "collapse"));
  CHECK_FALSE(has(healthy(1024).halvings(512, 5).clean(16, 50).codes(), "collapse"));
}

TEST_CASE("clean steps between overflows part them") {
  MadeRun run = healthy();
  for (double scale = 32768; scale > 128; scale /= 2) run.overflow(scale, scale / 2).clean(scale / 2, 5);
  CHECK_FALSE(has(run.codes(), "collapse"));
  CHECK(has(run.codes(), "falling"));
}

TEST_CASE("a collapse says where it began, and not where it was seen") {
  MadeRun run = healthy().halvings(32768, 9);
  const auto findings = examine(run.trace(), {});
  REQUIRE(findings.front().code == "collapse");
  CHECK(findings.front().step == 4002);
  CHECK(findings.front().line == 4002);
  CHECK(findings.front().file == "log.txt");
  CHECK(findings.front().message == "9 overflows in a row took the scale from 32768.0 to 64.0");
}

TEST_CASE("a threshold that the user gives decides") {
  Thresholds thresholds;
  set_threshold(thresholds, "collapse-overflows=10");
  CHECK_FALSE(has(healthy().halvings(32768, 9).codes(thresholds), "collapse"));
  CHECK(has(healthy().halvings(32768, 10).codes(thresholds), "collapse"));
  CHECK_THROWS(set_threshold(thresholds, "collapse-overflow=10"));
  CHECK_THROWS(set_threshold(thresholds, "low-scale=many"));
}

TEST_CASE("DeepSpeed's exception ends a collapse to the floor, whether or not lines have step numbers") {
  for (const bool has_numbers : {true, false}) {
    MadeRun run("deepspeed-log", has_numbers);
    run.overflow(65536, 32768).halvings(32768, 15).dies();
    CHECK(run.codes() == Codes{"collapse-to-floor"});
  }
}

TEST_CASE("a collapse that stays at 1 is at its floor and stuck there") {
  MadeRun run("deepspeed-log", false);
  run.halvings(65536, 16);
  for (int i = 0; i < 5; ++i) run.overflow(1, 1);
  CHECK(run.codes() == Codes{"collapse-to-floor", "stuck-at-floor"});
}

TEST_CASE("apex's way down to 0 is told as such, and that of a run which lives on is not") {
  MadeRun run("apex-log", false);
  run.halvings(65536, 1091);
  CHECK(run.codes() == Codes{"collapse-to-zero"});
}

TEST_CASE("overflows at a scale that does not move are stuck; a hysteresis is not") {
  MadeRun stuck = healthy();
  CHECK(has(stuck.overflow(32768, 32768).overflow(32768, 32768).overflow(32768, 32768).codes(), "stuck-at-floor"));
  MadeRun waiting;
  waiting.clean(65536, 1500);
  for (double scale = 65536; scale > 8192; scale /= 2)
    waiting.overflow(scale, scale).overflow(scale, scale / 2).clean(scale / 2, 300);
  CHECK_FALSE(has(waiting.codes(), "stuck-at-floor"));
}

TEST_CASE(
    "lines that name the same scale again and again are of a scale that grew between them; at 1 they are of a floor") {
  MadeRun healthy("apex-log");
  for (int i = 0; i < 8; ++i) healthy.left(65536);
  CHECK_FALSE(has(healthy.codes(), "stuck-at-floor"));
  CHECK_FALSE(has(healthy.codes(), "collapse"));
  MadeRun falling("apex-log");
  for (int i = 0; i < 8; ++i) falling.left(65536);
  for (double scale = 65536; scale > 2048; scale /= 2) falling.left(scale / 2);
  for (const HealthFinding& finding : examine(falling.trace(), {})) {
    if (finding.code == "falling") CHECK_THAT(finding.message, Catch::Contains("by 6 overflows and has not come back"));
  }
  CHECK(has(falling.codes(), "falling"));
  MadeRun stuck("apex-log");
  for (double scale = 32768; scale > 1; scale /= 2) stuck.left(scale);
  for (int i = 0; i < 30; ++i) stuck.left(1);
  CHECK(has(stuck.codes(), "stuck-at-floor"));
}

TEST_CASE("a start from 2^32 that overflows until it fits is a search") {
  MadeRun run("deepspeed-log");
  CHECK(run.halvings(0x1p32, 18).clean(16384, 500).codes() == Codes{"initial-search", "healthy"});
  MadeRun excerpt("deepspeed-log", false);
  CHECK(excerpt.halvings(0x1p32, 9).codes() == Codes{"initial-search", "healthy"});
}

TEST_CASE(
    "overflows that DeepSpeed tells line by line and counts again in its report are one each, and no scale is stuck") {
  MadeRun run("deepspeed-log");
  double scale = 0x1p32;
  for (int i = 0; i < 16; ++i, scale /= 2) {
    run.line(scale, scale / 2);
    if (i == 9) run.interval({}, 10, 10);
  }
  run.interval({}, 10, 6);
  for (int i = 0; i < 50; ++i) run.interval({}, 10, 0);
  CHECK(run.codes() == Codes{"initial-search", "healthy"});
  CHECK_THAT(examine(run.trace(), {}).front().message, Catch::Contains("16 overflows"));
  CHECK_THAT(examine(run.trace(), {}).back().message, Catch::Contains("520 steps are told of, 16 of them skipped"));
}

TEST_CASE("reports that count skipped steps and tell no scale are of no scale of 0") {
  MadeRun quiet("deepspeed-log");
  for (int i = 0; i < 20; ++i) quiet.interval({}, 10, 0);
  CHECK(quiet.codes() == Codes{"healthy"});
  CHECK(examine(quiet.trace(), {}).front().message ==
        "200 steps are told of, 0 of them skipped: a healthy course, of which no scale is told");
  MadeRun later("deepspeed-log");
  for (int i = 0; i < 20; ++i) later.interval({}, 10, 0);
  later.line(65536, 32768).interval({}, 10, 1);
  for (int i = 0; i < 20; ++i) later.interval({}, 10, 0);
  CHECK(later.codes() == Codes{"healthy"});
  MadeRun counts("deepspeed-log");
  for (int i = 0; i < 200; ++i) counts.interval({}, 10, i % 5 == 0 ? 10 : 0);
  CHECK(counts.codes() == Codes{"too-many-overflows"});
}

TEST_CASE("a scale that reports do not tell is not said to have stayed where an overflow left it") {
  MadeRun run("deepspeed-log");
  for (int i = 0; i < 10000; ++i) run.interval({}, 10, 0);
  run.line(1024, 512).interval({}, 10, 1);
  for (int i = 0; i < 10000; ++i) run.interval({}, 10, 0);
  CHECK(run.codes() == Codes{"healthy"});
}

TEST_CASE("a start that falls all the way is none") {
  MadeRun run("deepspeed-log", false);
  CHECK(has(run.halvings(65536, 14).codes(), "collapse"));
}

TEST_CASE("a scale that fell by four octaves in 1,000 steps is watched until it comes back") {
  MadeRun run = healthy();
  for (double scale = 32768; scale > 1024; scale /= 2) run.overflow(scale, scale / 2).clean(scale / 2, 100);
  CHECK(has(run.codes(), "falling"));
  for (double scale = 1024; scale < 32768; scale *= 2) run.growth(scale, 2 * scale).clean(2 * scale, 200);
  CHECK_FALSE(has(run.codes(), "falling"));
}

TEST_CASE("a low scale is told of, and one of a run in bfloat16 is not") {
  MadeRun low;
  CHECK(has(low.clean(16, 100).overflow(16, 8).clean(8, 10).overflow(8, 4).clean(4, 1500).codes(), "low-scale"));
  MadeRun fine;
  CHECK_FALSE(has(fine.clean(16, 100).overflow(16, 8).clean(8, 1500).codes(), "low-scale"));
  MadeRun bfloat16("megatron-log");
  for (int i = 0; i < 30; ++i) bfloat16.interval(1, 10, 0);
  CHECK(bfloat16.codes() == Codes{"not-scaled", "healthy"});
}

TEST_CASE("more skipped steps than growths explain are too many") {
  const auto codes_of = [](int clean) {
    MadeRun run;
    run.clean(4096, 200);
    for (int i = 0; i < 60; ++i) run.overflow(4096, 4096).clean(4096, clean);
    return run.codes();
  };
  CHECK(has(codes_of(20), "too-many-overflows"));
  CHECK_FALSE(has(codes_of(100), "too-many-overflows"));
}

TEST_CASE("with a short window many skipped steps are usual") {
  MadeRun run;
  run.clean(4096, 200);
  for (int i = 0; i < 60; ++i) run.overflow(4096, 2048).clean(2048, 20).growth(2048, 4096);
  CHECK_FALSE(has(run.codes(), "too-many-overflows"));
}

TEST_CASE("growths that overflow at once at one ceiling are normal, and said to be") {
  MadeRun run;
  run.clean(4096, 2000);
  for (int i = 0; i < 3; ++i) run.growth(4096, 8192).overflow(8192, 4096).clean(4096, 2000);
  CHECK(run.codes() == Codes{"oscillating", "healthy"});
  MadeRun twice;
  twice.clean(4096, 2000);
  for (int i = 0; i < 2; ++i) twice.growth(4096, 8192).overflow(8192, 4096).clean(4096, 2000);
  CHECK(twice.codes() == Codes{"healthy"});
}

TEST_CASE("a scale that nothing moves for three windows is frozen") {
  MadeRun run;
  run.clean(1024, 99).growth(1024, 2048).clean(2048, 99).growth(2048, 4096).clean(4096, 301);
  CHECK(has(run.codes(), "frozen"));
  MadeRun fine;
  fine.clean(1024, 99).growth(1024, 2048).clean(2048, 99).growth(2048, 4096).clean(4096, 299);
  CHECK_FALSE(has(fine.codes(), "frozen"));
  MadeRun unknown;
  CHECK_FALSE(has(unknown.clean(1024, 9'999).codes(), "frozen"));
  CHECK(has(unknown.clean(1024, 2).codes(), "frozen"));
}

TEST_CASE("a scale that grows above 2^24 without an overflow explodes") {
  const auto codes_of = [](double scale) {
    MadeRun run;
    for (int i = 0; i < 6; ++i, scale *= 2) run.clean(scale, 99).growth(scale, 2 * scale);
    return run.codes();
  };
  CHECK(has(codes_of(0x1p20), "exploding"));
  CHECK_FALSE(has(codes_of(0x1p18), "exploding"));
}

TEST_CASE("a growth long before the window is full is none of the rule's") {
  const auto begin = [] {
    MadeRun run;
    run.clean(1024, 50).overflow(1024, 512);
    for (double scale = 512; scale < 4096; scale *= 2) run.clean(scale, 99).growth(scale, 2 * scale);
    return run;
  };
  CHECK_FALSE(has(begin().codes(), "manual-growth"));
  CHECK(has(begin().clean(4096, 20).growth(4096, 65536).codes(), "manual-growth"));
  CHECK_FALSE(has(begin().clean(4096, 60).growth(4096, 65536).codes(), "manual-growth"));
  CHECK_FALSE(has(begin().clean(4096, 20).resume(300).growth(65536, 65536).codes(), "manual-growth"));
}

TEST_CASE("a scale that becomes inf or nan is an error, told with where, from what, and how long") {
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const double broken : {infinity, nan}) {
    MadeRun run;
    run.clean(1024, 49).clean(broken, 250);
    CHECK(run.codes() == std::vector<std::string>{"broken-scale"});
    const HealthFinding found = examine(run.trace(), {}).front();
    CHECK(found.severity == Severity::error);
    CHECK(found.step == 50);
    CHECK_THAT(found.message,
               Catch::Contains("the scale went from 1024.0 to ") && Catch::Contains("(250 steps, to the end)"));
    run.clean(512, 2000);
    const HealthFinding mended = examine(run.trace(), {}).front();
    CHECK_THAT(mended.message, Catch::Contains("(250 steps, until step 300)"));
    CHECK(run.codes() == std::vector<std::string>{"broken-scale"});  // no fall of it, and no window
    run.clean(broken);
    CHECK_THAT(examine(run.trace(), {}).front().message, Catch::Contains("(251 steps, to the end)"));
  }
  CHECK(has(MadeRun().clean(0x1p127, 60).growth(0x1p127, infinity).codes(), "broken-scale"));
  CHECK_THAT(examine(MadeRun().clean(nan, 60).trace(), {}).front().message,
             Catch::Contains("the scale is nan (60 steps"));
}

TEST_CASE("a growth is not too early whose clean steps lie where the log has a hole") {
  MadeRun run;
  run.clean(1024, 50).overflow(1024, 512);
  for (double scale = 512; scale < 4096; scale *= 2) run.clean(scale, 99).growth(scale, 2 * scale);
  CHECK_FALSE(has(run.clean(4096, 10).unseen(80).clean(4096, 9).growth(4096, 8192).codes(), "manual-growth"));
}

TEST_CASE("icefall's script doubles small scales by hand; metaseq's and mindformers' windows move by themselves") {
  const auto codes_of = [](const std::string& kind) {
    MadeRun run(kind);
    run.clean(0.5, 10).growth(0.5, 1);
    for (double scale = 1; scale < 8; scale *= 2) run.clean(scale, 99).growth(scale, 2 * scale);
    return run.clean(8, 20).growth(8, 16).codes();
  };
  CHECK(has(codes_of("icefall-log"), "manual-growth"));
  CHECK(has(codes_of("jsonl"), "manual-growth"));
  CHECK_FALSE(has(codes_of("fairseq-log"), "manual-growth"));
  CHECK_FALSE(has(codes_of("mindformers-log"), "manual-growth"));
}

TEST_CASE("a checkpoint that counts many skipped steps tells of too many overflows, by itself") {
  const auto codes_of = [](std::uint64_t skipped) {
    MadeRun run("checkpoint");
    return run.interval(64, 2000, skipped).codes();
  };
  CHECK(has(codes_of(1800), "too-many-overflows"));
  CHECK_FALSE(has(codes_of(18), "too-many-overflows"));
}

TEST_CASE("a fall in steps of which none is counted as skipped contradicts the count") {
  MadeRun run("megatron-log");
  for (int i = 0; i < 20; ++i) run.interval(65536, 10, 0);
  CHECK_FALSE(has(run.codes(), "count-contradiction"));
  CHECK(has(run.interval(32768, 10, 0).codes(), "count-contradiction"));
}

TEST_CASE("a scale that falls further in a step than one back-off takes it is told, wherever no step lies between") {
  const auto codes_of = [](double after, std::uint64_t steps) {
    MadeRun run;
    return run.clean(131072, 100).interval(after, steps, 1).codes();
  };
  CHECK(has(codes_of(0x1p-74, 1), "backoffs-at-once"));  // pytorch#157436
  CHECK(has(codes_of(4096, 1), "backoffs-at-once"));
  CHECK_FALSE(has(codes_of(8192, 1), "backoffs-at-once"));
  CHECK_FALSE(has(codes_of(4096, 2), "backoffs-at-once"));
  MadeRun unnumbered("apex-log", false);
  CHECK_FALSE(has(unnumbered.clean(131072, 100).overflow(131072, 64).codes(), "backoffs-at-once"));
}

TEST_CASE("a loss that jumps is a spike, one that came down is said to have recovered, one that stays has diverged") {
  const auto begin = [] {
    MadeRun run;
    for (int i = 0; i < 300; ++i) run.loss(65536, 3.0F + 0.02F * static_cast<float>(i % 5));
    return run;
  };
  CHECK(begin().codes() == Codes{"healthy"});
  MadeRun spike = begin();
  for (int i = 0; i < 30; ++i) spike.loss(65536, 7.7F);
  CHECK(spike.codes() == Codes{"loss-spike"});
  MadeRun diverged = spike;
  for (int i = 0; i < 300; ++i) diverged.loss(65536, 7.5F);
  CHECK(diverged.codes() == Codes{"diverged"});
  for (int i = 0; i < 300; ++i) spike.loss(65536, 3.05F);
  CHECK(spike.codes() == Codes{"spike-recovered", "healthy"});
}

TEST_CASE("a norm that jumps is told where the loss jumps too, and not by itself") {
  const auto run_of = [](float loss) {
    MadeRun run;
    for (int i = 0; i < 300; ++i) run.loss(65536, 3, 1);
    run.loss(65536, 3, 20);
    for (int i = 0; i < 30; ++i) run.loss(65536, loss, 1);
    return run.codes();
  };
  CHECK(has(run_of(7.7F), "norm-spike"));
  CHECK_FALSE(has(run_of(3), "norm-spike"));
}

TEST_CASE("a loss that is NaN in steps that were not skipped is lost; that of an overflow is not") {
  MadeRun run;
  for (int i = 0; i < 100; ++i) run.loss(1024, 3);
  for (int i = 0; i < 3; ++i) run.loss(1024, std::nanf(""));
  CHECK(has(run.codes(), "nan-loss"));
  MadeRun megatron("megatron-log");
  for (int i = 0; i < 100; ++i) megatron.loss(1024, 3);
  CHECK_FALSE(has(megatron.interval(1024, 10, 10).codes(), "nan-loss"));
  CHECK(has(megatron.interval(1024, 10, 0).codes(), "nan-loss"));
}

TEST_CASE("three starts that end near one step are a loop") {
  MadeRun run;
  run.clean(1024, 500).resume(400).clean(1024, 95).resume(400);
  CHECK_FALSE(has(run.codes(), "restart-loop"));
  CHECK(has(run.clean(1024, 105).codes(), "restart-loop"));
}

TEST_CASE("what ranks or sources contradict each other in is found, and what they agree in is not") {
  for (const char* code : {"ranks-disagree", "sources-disagree", "other-source"}) {
    MadeRun run = healthy();
    Trace trace = run.trace();
    trace.warnings.push_back({code, "of step 10 one tells 64.0, and the other 32.0"});
    CHECK(std::ranges::count(examine(trace, {}), code, &HealthFinding::code) == (code[0] == 'o' ? 0 : 1));
  }
}

TEST_CASE(
    "a run whose checkpoints hold no scaler goes back to the last of them that its name puts before the trouble") {
  MadeRun run;
  Trace trace = run.trace();
  for (const std::int64_t step : {100, 300, 200, 400}) {
    trace.without_scaler.push_back({"run/checkpoint-" + std::to_string(step), step, {}, {}});
  }
  for (std::int64_t step = 1; step <= 10; ++step) {
    trace.without_scale.push_back({.step = 391 + step, .loss = step > 5 ? std::nanf("") : 1.0F});
  }
  Diagnosis diagnosis{{}, examine(trace, {}), {}};
  tell_last_healthy(diagnosis, trace);
  REQUIRE(diagnosis.findings.front().code == "nan-loss");
  CHECK(diagnosis.findings.front().advice.find("Resume from run/checkpoint-300 and") != std::string::npos);
  CHECK_FALSE(diagnosis.last_healthy);
}

TEST_CASE("a run of which no scale is told is no healthy one") {
  MadeRun run;
  CHECK(run.codes() == Codes{"no-scale-trace"});
}

TEST_CASE("the last checkpoint that is healthy lies before the trouble") {
  MadeRun run = healthy().checkpoint(3000, 32768).checkpoint(4000, 32768).checkpoint(4010, 128);
  run.halvings(32768, 9);
  const auto before = healthy_before(run.trace(), 4002, 1);
  REQUIRE(before);
  CHECK(before->step == 4000);
  CHECK(healthy_before(run.trace(), std::nullopt, 16384)->step == 4000);
  CHECK_FALSE(healthy_before(run.trace(), 100, 1));
}

TEST_CASE("an advice's command takes no checkpoint's path for an option") {
  MadeRun run;
  run.clean(65536, 1000).halvings(65536, 17);
  std::vector<HealthFinding> findings = examine(run.trace(), {});
  REQUIRE(!findings.empty());
  TraceCheckpoint healthy;
  healthy.path = "-run/step 900";
  name_healthy(findings, healthy, run.trace());
  CHECK(findings.front().advice.find("`tare edit './-run/step 900' scale=") != std::string::npos);
}

TEST_CASE("a run whose scale falls from its first report on, and further than a search, is no healthy one") {
  for (const int reports : {13, 19, 23}) {  // down to 8, and below 1
    MadeRun run;
    double scale = 65536;
    for (int i = 0; i < reports; ++i) run.interval(scale /= 2, 10, 1);
    INFO(scale);
    CHECK(has(run.codes(), "falling"));
    CHECK_FALSE(has(run.codes(), "healthy"));
  }
  MadeRun slow;  // less than falls in a thousand steps, but to where gradients vanish
  for (double scale = 65536; scale > 4; scale /= 2) {
    slow.interval(scale / 2, 100, 1);
    for (int i = 0; i < 3; ++i) slow.interval(scale / 2, 100, 0);
  }
  CHECK(has(slow.codes(), "falling"));
}

TEST_CASE(
    "a search that reports show is healthy, whatever it was interrupted by and whatever follows once it is over") {
  MadeRun reports;
  double scale = 0x1p32;
  for (int i = 0; i < 8; ++i) reports.interval(scale /= 4, 10, 2);
  CHECK(has(reports.codes(), "healthy"));
  CHECK(has(reports.clean(scale, 100).overflow(scale, scale / 2).codes(), "healthy"));
  MadeRun settled;  // lower than searches end, but there it stays
  settled.halvings(0x1p20, 12).clean(0x1p8, 10).halvings(0x1p8, 2).clean(64, 10).halvings(64, 1).clean(32, 100);
  CHECK(has(settled.codes(), "healthy"));
}

TEST_CASE("a fall behind a healthy search begins behind it") {
  MadeRun run;
  run.halvings(0x1p20, 4).clean(65536, 200);
  for (double scale = 65536; scale > 64; scale /= 2) run.overflow(scale, scale / 2).clean(scale / 2, 199);
  const auto findings = examine(run.trace(), {});
  REQUIRE(findings.front().code == "falling");
  CHECK(findings.front().step == 205);
}

TEST_CASE("a slow fall begins where the scale began to go down, and not in its midst") {
  for (const int steps : {50, 100, 200}) {
    MadeRun run;
    for (int i = 0; i < 40; ++i) run.interval(65536, 100, 0);
    const auto begin = 4000;
    double scale = 65536;
    for (int i = 0; i < 30; ++i, scale /= 2) run.overflow(scale, scale / 2).clean(scale / 2, steps - 1);
    run.checkpoint(begin, 65536).checkpoint(begin + 20 * steps, 0.0625);
    INFO(steps);
    Diagnosis diagnosis;
    diagnosis.findings = examine(run.trace(), {});
    const auto falling = std::ranges::find(diagnosis.findings, "falling", &HealthFinding::code);
    REQUIRE(falling != diagnosis.findings.end());
    CHECK(falling->step == begin + 1);
    CHECK_THAT(falling->message, Catch::Contains("the scale fell from 65536.0 to "));
    tell_last_healthy(diagnosis, run.trace());
    REQUIRE(diagnosis.last_healthy);
    CHECK(diagnosis.last_healthy->step == begin);
  }
}

TEST_CASE("each code stands in the table once, with what it means") {
  for (const Rule& rule : rules()) {
    INFO(rule.code);
    CHECK(std::ranges::count(rules(), rule.code, &Rule::code) == 1);
    CHECK_FALSE(rule.meaning.empty());
    CHECK((rule.look == nullptr || rule.looks_at == LooksAt::trace));
  }
  for (const ThresholdFacts& fact : threshold_table()) {
    INFO(fact.name);
    CHECK(find_rule(fact.rule) != nullptr);
    CHECK(std::ranges::count(threshold_table(), fact.name, &ThresholdFacts::name) == 1);
  }
}

namespace {

/// A run whose gradients have a steady range: every framework's rule keeps it going.
MadeRun run_of_policy(const rule::PolicySpec& spec, std::uint32_t seed, int steps) {
  std::mt19937 random(seed);
  std::normal_distribution<double> octaves(-2.0, 1.0);
  rule::RunningState scaler{rule::make_policy(spec), {}, {}};
  if (const auto* window = rule::find_parameter(spec, "growth_interval")) {
    rule::write_parameter(scaler.policy.params, *window, rule::integer_number(300));
  }
  rule::prepare(scaler.policy);
  scaler.state = rule::initial_state(scaler.policy);
  MadeRun run;
  for (int i = 0; i < steps; ++i) {
    const double before = rule::scale_of(scaler.policy.id, scaler.state);
    const bool overflow = before * std::exp2(octaves(random)) >= 65504;
    if (rule::advance(scaler.policy, scaler.state, overflow, scaler.counters).raised != rule::Raised::nothing) break;
    const double after = rule::scale_of(scaler.policy.id, scaler.state);
    if (overflow) {
      run.overflow(before, after);
    } else {
      run.growth(before, after);
    }
  }
  return run;
}

}  // namespace

TEST_CASE("steady runs under every dynamic policy have nothing worse than a note") {
  for (const rule::PolicySpec& spec : rule::policies()) {
    const bool moves = rule::find_parameter(spec, "growth_interval") != nullptr;
    if (!moves || spec.driver != rule::Driver::overflow || spec.name == "mindformers_adaptive") continue;
    for (std::uint32_t seed = 1; seed <= 5; ++seed) {
      INFO(spec.name << " " << spec.variant << " seed " << seed);
      MadeRun run = run_of_policy(spec, seed, 20'000);
      for (const HealthFinding& finding : examine(run.trace(), {})) {
        INFO(finding.code << ": " << finding.message);
        CHECK(finding.severity == Severity::note);
        CHECK(finding.code != "manual-growth");
      }
    }
  }
}

TEST_CASE("a scale that mindyolo tells again and again is static, and no growth to its double is told of it") {
  const auto codes_of = [](const std::string& kind, double last) {
    MadeRun run(kind, false);
    for (int i = 0; i < 4; ++i) run.left(1024);
    return run.left(last).codes();
  };
  CHECK(codes_of("mindyolo-log", 1024) == Codes{"static-scale"});
  CHECK(has(codes_of("apex-log", 1024), "oscillating"));
  CHECK_FALSE(has(codes_of("mindyolo-log", 512), "static-scale"));
}

TEST_CASE("steps that overflowed and updated the weights all the same are told once, with the line of the first") {
  MadeRun run("mindyolo-log", false);
  Trace trace = run.left(1024).left(1024).trace();
  trace.warnings = {{"overflow-applied", "log.txt:1: applied"}, {"overflow-applied", "log.txt:4: applied"}};
  const auto findings = examine(trace, {});
  REQUIRE(findings.size() == 2);
  CHECK(findings.back().code == "static-scale");
  CHECK(findings.front().code == "overflow-applied");
  CHECK(findings.front().severity == Severity::warning);
  CHECK(findings.front().message == "log.txt:1: applied");
  CHECK(findings.front().file.empty());  // the message names it; the trace's first source may be another
}

TEST_CASE("a search that checkpoints without step numbers show took at least as many overflows as it went down") {
  MadeRun run("checkpoint", false);
  run.sample(0, 65536).sample(0, 4096);
  CHECK_THAT(examine(run.trace(), {}).front().message,
             Catch::Contains("the run began with at least 4 overflows that took the scale from 65536.0 to 4096.0"));
}
