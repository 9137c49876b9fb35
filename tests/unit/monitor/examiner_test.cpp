// What is said of a run, and since which step.
#include "lib/monitor/examiner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/catch.hpp"

using namespace tare;
using namespace tare::monitor;

namespace {

/// Gradients of a thousand values, of which a share is zero.
Gradient gradient(const std::string& name, double lost, double max_abs = 1) {
  Gradient made;
  made.name = name;
  made.seen.count = 1000;
  made.seen.zeros = static_cast<std::uint64_t>(std::lround(1000 * lost));
  made.seen.max_abs = max_abs;
  return made;
}

struct Run {
  explicit Run(WarnLimits limits = {}, Format format = Format::f16) : examiner(std::move(limits), format) {}

  const ObservedStep& look(std::vector<Gradient> gradients, ScalerSeen scaler = {65536, 0, 0}) {
    last = {};
    last.step = step;
    last.gradients = std::move(gradients);
    last.scaler = scaler;
    examiner.examine(last);
    step += 10;
    return last;
  }
  [[nodiscard]] std::vector<std::string> codes() const {
    std::vector<std::string> told;
    for (const HealthFinding& finding : last.findings) told.push_back(finding.code);
    return told;
  }
  [[nodiscard]] const HealthFinding& finding(const std::string& code) const {
    const auto found = std::ranges::find(last.findings, code, &HealthFinding::code);
    REQUIRE(found != last.findings.end());
    return *found;
  }

  Examiner examiner;
  ObservedStep last;
  std::int64_t step = 0;
};

using Codes = std::vector<std::string>;

WarnLimits within(double looks) {
  WarnLimits limits;
  limits.looks = looks;
  return limits;
}

double evidence(const HealthFinding& finding, const std::string& name) {
  for (const auto& [key, value] : finding.evidence) {
    if (key == name) return value;
  }
  return std::nan("");
}

}  // namespace

TEST_CASE("gradients that become zero are told once they did so in ten looks, with what helps") {
  Run run;
  for (int i = 0; i < 5; ++i) run.look({gradient("a", 0.001), gradient("b", 0.002)});
  CHECK(run.codes().empty());
  CHECK(run.last.signals.lost == 0.0015);
  for (int i = 0; i < 9; ++i) run.look({gradient("a", 0.04, 2), gradient("b", 0.09)});
  CHECK(run.codes().empty());
  run.look({gradient("a", 0.04, 2), gradient("b", 0.09)});
  CHECK(run.codes() == Codes{"gradient-underflow", "layer-underflow"});
  const HealthFinding& overall = run.finding("gradient-underflow");
  CHECK(overall.step == 50);
  CHECK(evidence(overall, "share") == 0.065);
  CHECK(evidence(overall, "headroom_bits") == std::log2(65504.0 / 2));
  CHECK(overall.advice.find("larger initial scale") != std::string::npos);
  CHECK(run.finding("layer-underflow").path == "b");
  CHECK(evidence(run.finding("layer-underflow"), "tensors") == 1);
  run.look({gradient("a", 0.001), gradient("b", 0.002)});
  CHECK(run.codes().empty());
}

TEST_CASE("where the scale has no room the advice is another") {
  Run run;
  for (int i = 0; i < 10; ++i) run.look({gradient("a", 0.2, 40'000), gradient("b", 0.0, 40'000)});
  CHECK(run.codes() == Codes{"gradient-underflow", "beyond-f16-range", "layer-underflow"});
  for (const char* code : {"gradient-underflow", "beyond-f16-range"}) {
    for (const char* way_out : {"bfloat16", "TF32"}) {
      CHECK(run.finding(code).advice.find(way_out) != std::string::npos);
    }
  }
  CHECK(run.finding("beyond-f16-range").path == "a");
}

TEST_CASE("the share of layers that lose gradients, and of those with many zeros, is told") {
  WarnLimits limits;
  limits.ignore = {"*.embed"};
  limits.zeros = 0.3;
  Run run(limits);
  const auto look = [&] {
    run.look(
        {gradient("a", 0.06), gradient("b", 0.3), gradient("c", 0.04), gradient("d", 1, 0), gradient("e.embed", 1)});
  };
  look();
  CHECK(run.last.signals.layers == 4);
  CHECK(run.last.signals.layers_lost == 0.5);
  CHECK(run.last.signals.layers_zero == 0.5);  // b and d
  for (int i = 0; i < 9; ++i) look();
  CHECK(evidence(run.finding("layer-underflow"), "layers") == 0.5);
  CHECK(run.finding("layer-underflow").message ==
        "b: 30 % of its gradients became zero, and 1 more (50 % of the layers)");
  CHECK(run.finding("layer-frozen").message == "d: all of its gradients are zero (25 % of the layers)");
  run.look({gradient("a", 0, std::numeric_limits<double>::infinity()), gradient("d", 1, 0)});
  CHECK(run.last.signals.layers == 0);
  CHECK_FALSE(run.last.signals.layers_lost.has_value());
  CHECK_FALSE(run.last.signals.layers_zero.has_value());
}

TEST_CASE("each parameter's gradients bear how many looks they were all zero, and since when") {
  Run run;
  run.look({gradient("a", 0.5), gradient("b", 0)});
  CHECK(run.last.gradients[0].all_zero == Streak{0, 0});
  for (int i = 0; i < 3; ++i) run.look({gradient("a", 1, 0), gradient("b", 0)});
  CHECK(run.last.gradients[0].all_zero == Streak{3, 10});
  CHECK(run.last.gradients[1].all_zero.looks == 0);
  run.look({gradient("a", 1, 0), gradient("b", 0, std::numeric_limits<double>::infinity())});
  CHECK(run.last.gradients[0].all_zero == Streak{3, 10});  // an overflow tells nothing of it
  run.look({gradient("a", 0.9), gradient("b", 0)});
  CHECK(run.last.gradients[0].all_zero.looks == 0);
  run.look({gradient("a", 1, 0), gradient("b", 0)});
  CHECK(run.last.gradients[0].all_zero == Streak{1, 60});
}

TEST_CASE("a share that rises is told long before it is large") {
  Run run;
  for (int i = 0; i < 60; ++i) run.look({gradient("a", 0.001 * (i / 2) + 0.001 * (i % 2))});
  CHECK(run.codes() == Codes{"underflow-rising"});
  const HealthFinding& rising = run.finding("underflow-rising");
  CHECK(evidence(rising, "confidence") > 0.99);
  CHECK(std::fabs(evidence(rising, "slope") - 0.00005) < 1e-6);
  for (int i = 0; i < 200; ++i) run.look({gradient("a", 0.03)});
  CHECK(run.codes().empty());  // it is level, and what came before is over a thousand steps old
}

TEST_CASE("shares that waver without a trend are not told") {
  Run run;
  for (int i = 0; i < 200; ++i) {
    run.look({gradient("a", 0.001 * ((i * 7) % 10))});
    CHECK(run.codes().empty());
  }
}

TEST_CASE("steps that overflow are told with the tensor, and count for nothing else") {
  Run run;
  const double inf = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 9; ++i) run.look({gradient("a", 0.1)});
  run.look({gradient("a", 0), gradient("b\n", 0, inf), gradient("c", 0, std::nan(""))});
  CHECK(run.codes() == Codes{"gradient-not-finite"});
  CHECK(run.finding("gradient-not-finite").path == "b\n");
  CHECK(run.finding("gradient-not-finite").message.find("b\\x0a: infinities or nan, and 1 more") == 0);
  CHECK_FALSE(run.last.signals.lost.has_value());
  run.look({gradient("a", 0.1)});
  CHECK(run.codes() == Codes{"gradient-underflow", "layer-underflow"});
}

TEST_CASE("gradients that stay infinite are an error, but for those of the first search for a scale") {
  const double inf = std::numeric_limits<double>::infinity();
  Run run;
  run.look({gradient("a", 0)});
  for (int i = 0; i < 9; ++i) run.look({gradient("a", 0, inf)});
  CHECK(run.codes() == Codes{"gradient-not-finite"});
  run.look({gradient("a", 0, inf)});
  CHECK(run.codes() == Codes{"collapse", "gradient-not-finite"});
  CHECK(run.finding("collapse").step == 10);
  CHECK(run.finding("collapse").severity == Severity::error);
  Run searching;
  for (int i = 0; i < 64; ++i) searching.look({gradient("a", 0, inf)});
  CHECK(searching.codes() == Codes{"gradient-not-finite"});
  searching.look({gradient("a", 0, inf)});
  CHECK(searching.codes() == Codes{"collapse", "gradient-not-finite"});
}

TEST_CASE("layers without any gradient are told, those that are ignored are not") {
  WarnLimits limits;
  limits.ignore = {"*.embed"};
  Run run(limits);
  for (int i = 0; i < 10; ++i) run.look({gradient("a", 1, 0), gradient("x.embed", 1, 0), gradient("b", 0)});
  CHECK(run.codes() == Codes{"layer-frozen"});
  CHECK(run.finding("layer-frozen").path == "a");
  for (int i = 0; i < 10; ++i) run.look({gradient("x.embed", 0.5), gradient("b", 0)});
  CHECK(run.codes().empty());
}

TEST_CASE("bfloat16 loses nothing, and its scale may be 1") {
  Run run({}, Format::bf16);
  for (int i = 0; i < 20; ++i) run.look({gradient("a", 0.5)}, {1, 10 * i, 0});
  CHECK(run.codes().empty());
}

TEST_CASE("a low scale, and skipped steps behind the first search for a scale, are told") {
  Run run;
  for (int i = 0; i < 10; ++i) run.look({gradient("a", 0)}, {4, 10 * i, 0});
  CHECK(run.codes() == Codes{"low-scale"});
  Run searching;
  for (int i = 0; i < 150; ++i) {
    searching.look({gradient("a", 0)}, {1024, 10 * i, std::min(30, 10 * i), 0, std::min(30, 10 * i)});
    CHECK(searching.codes().empty());
  }
  Run skipping;
  for (int i = 0; i < 110; ++i) {
    skipping.look({gradient("a", 0)}, {1024, 10 * i, i < 20 ? 0 : (i - 20) / 3});
    if (i == 80) CHECK(skipping.codes().empty());
  }
  CHECK(skipping.codes() == Codes{"too-many-overflows"});
  CHECK(evidence(skipping.finding("too-many-overflows"), "share") > 0.02);
}

TEST_CASE("steps that are skipped at a scale that does not move are an error") {
  Run run;
  run.look({gradient("a", 0)}, {1, 100, 0, 0, 0});
  run.look({gradient("a", 0)}, {1, 105, 5, 0, 0});
  CHECK(run.codes().empty());
  run.look({gradient("a", 0)}, {1, 110, 10, 0, 0});
  CHECK(run.codes() == Codes{"stuck-at-floor"});
  const HealthFinding& stuck = run.finding("stuck-at-floor");
  CHECK(stuck.severity == Severity::error);
  CHECK(stuck.step == 10);
  CHECK(evidence(stuck, "overflows") == 10);
  CHECK(evidence(stuck, "scale") == 1);
  run.look({gradient("a", 0)}, {1, 110, 10, 0, 0});  // no step was made since
  CHECK(run.codes() == Codes{"stuck-at-floor"});
  run.look({gradient("a", 0)}, {1, 120, 19, 0, 0});
  CHECK(run.codes().empty());
  Run falling;
  for (int i = 0; i < 5; ++i) falling.look({gradient("a", 0)}, {65536.0 / (1 << i), 10 * i, 10 * i, 0, i});
  CHECK(falling.codes().empty());
  WarnLimits never;
  never.stuck = 1000;
  Run patient(never);
  for (int i = 0; i < 5; ++i) patient.look({gradient("a", 0)}, {65536, 10 * i, 10 * i, 0, 0});
  CHECK(patient.codes().empty());
}

TEST_CASE("a scale that falls back whenever it grows is a note, with the scale that it falls to") {
  const auto seen = [](int i, int growths, int backoffs, double scale) {
    return ScalerSeen{scale, 10 * i, backoffs, growths, backoffs};
  };
  Run run;
  for (int i = 0; i < 20; ++i) {
    run.look({gradient("a", 0)}, seen(i, std::max(0, i / 3 - 2), std::max(0, i / 3 - 2), i % 3 == 1 ? 2048 : 1024));
    if (i < 12) CHECK(run.codes().empty());  // of fewer than three growths behind the search nothing is said
  }
  CHECK(run.codes() == Codes{"oscillating"});
  CHECK(run.finding("oscillating").severity == Severity::note);
  CHECK(evidence(run.finding("oscillating"), "scale") == 1024);
  CHECK(evidence(run.finding("oscillating"), "hits") == 4);
  CHECK(run.finding("oscillating").message == "the scale grew 4 times in 120 steps and fell as often, back to 1024.0");
  Run climbing;  // three scales
  for (int i = 0; i < 20; ++i) climbing.look({gradient("a", 0)}, seen(i, i / 3, i / 3, 1024.0 * (1 + i % 3)));
  CHECK(climbing.codes().empty());
  Run passing;  // a third scale, once
  for (int i = 0; i < 20; ++i) {
    const double scale = i == 16 ? 1536 : i % 3 == 1 ? 2048 : 1024;
    passing.look({gradient("a", 0)}, seen(i, std::max(0, i / 3 - 2), std::max(0, i / 3 - 2), scale));
  }
  CHECK(passing.codes().empty());
  Run growing;
  for (int i = 0; i < 40; ++i) growing.look({gradient("a", 0)}, seen(i, i, i / 4, 1024));
  CHECK(growing.codes().empty());
}

TEST_CASE("a scale that falls is told at once, from where, and no longer once it has come back") {
  Run run;
  for (int i = 0; i < 12; ++i) run.look({gradient("a", 0)}, {65536, 10 * i, 0, 0, 0});
  run.look({gradient("a", 0)}, {8192, 120, 3, 0, 3});
  CHECK(run.codes().empty());
  run.look({gradient("a", 0)}, {2048, 130, 5, 0, 5});
  CHECK(run.codes() == Codes{"falling"});
  const HealthFinding& fall = run.finding("falling");
  CHECK(fall.step == 110);
  CHECK(fall.severity == Severity::warning);
  CHECK(evidence(fall, "from") == 65536);
  CHECK(evidence(fall, "to") == 2048);
  CHECK(evidence(fall, "octaves") == 5);
  CHECK(fall.message == "the scale fell from 65536.0 to 2048.0 within 20 steps and has not come back");
  run.look({gradient("a", 0)}, {8192, 140, 5, 2, 5});
  CHECK(run.codes().empty());
  Run searching;  // a start from far above
  for (int i = 0; i < 30; ++i)
    searching.look({gradient("a", 0)}, {i < 3 ? 0x1p30 : 1024, 10 * i, std::min(20, 10 * i), 0, 20});
  CHECK(searching.codes().empty());
  Run brain({}, Format::bf16);
  for (int i = 0; i < 30; ++i) brain.look({gradient("a", 0)}, {i < 20 ? 65536.0 : 1, 10 * i, i < 20 ? 0 : 16, 0, 16});
  CHECK(brain.codes().empty());
  Run vanished;
  for (int i = 0; i < 30; ++i) vanished.look({gradient("a", 0)}, {i < 20 ? 65536.0 : 0, 10 * i, 0, 0, 0});
  CHECK(vanished.codes() == Codes{"low-scale"});
}

TEST_CASE("a scaler whose counters begin anew is judged from there on") {
  Run run;
  for (int i = 0; i < 20; ++i) {
    const int growths = std::max(0, i / 3 - 2);
    run.look({gradient("a", 0)}, {1024, 10 * i, growths, growths, growths});
  }
  CHECK(run.codes() == Codes{"oscillating"});
  for (int i = 0; i < 9; ++i) {
    run.look({gradient("a", 0)}, {1024, 10 * i, i / 3, i / 3, i / 3});
    CHECK(run.codes().empty());
  }
  run.look({gradient("a", 0)}, {1024, 100, 3, 3, 3});
  CHECK(run.codes() == Codes{"oscillating"});
}

TEST_CASE("a run that goes back to an earlier step forgets what came behind it") {
  Run run;
  for (int i = 0; i < 40; ++i) run.look({gradient("a", 0.001 * i)});
  CHECK(run.codes() == Codes{"underflow-rising"});
  run.step = 20;
  run.look({gradient("a", 0.002)});
  CHECK(run.codes().empty());
}

TEST_CASE("steps and counters may be any numbers") {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  Run run;
  for (const std::int64_t step : {least, least + 1, std::int64_t{0}, most - 1, most, least}) {
    run.last = {};
    run.last.step = step;
    run.last.gradients = {gradient("a", 0)};
    run.last.scaler = ScalerSeen{65536, step, most};
    run.examiner.examine(run.last);
  }
  CHECK(run.codes().empty());
}

TEST_CASE("weights that are not finite and second moments that vanish are told") {
  Run run;
  const auto observed = [](const char* group, Dtype dtype, std::uint64_t zeros, std::uint64_t nans) {
    Observed one;
    one.group = group;
    one.name = "w";
    one.dtype = dtype;
    one.summary.count = 100;
    one.summary.zeros = zeros;
    one.summary.nans = nans;
    return one;
  };
  run.last.tensors = {observed("weights", Dtype::f32, 0, 1), observed("exp_avg_sq", Dtype::f16, 5, 0),
                      observed("exp_avg_sq", Dtype::f32, 50, 0), observed("weights", Dtype::f16, 50, 0)};
  run.examiner.examine(run.last);
  CHECK(run.codes() == Codes{"tensor-not-finite", "adam-underflow"});
  CHECK(run.finding("tensor-not-finite").path == "weights/w");
}

TEST_CASE("activations that went beyond float16 may be clamped; a nan, weights and wider ones may not") {
  const auto advice_on = [](const char* group, Dtype dtype, std::uint64_t infinities, std::uint64_t nans) {
    Run run;
    Observed& one = run.last.tensors.emplace_back();
    one.group = group;
    one.name = "layer";
    one.dtype = dtype;
    one.summary.count = 100;
    one.summary.infinities = infinities;
    one.summary.nans = nans;
    run.examiner.examine(run.last);
    return run.finding("tensor-not-finite").advice;
  };
  for (const char* group : {"inputs", "outputs"}) {
    CHECK(advice_on(group, Dtype::f16, 3, 0).find("clamp these values to 65504") != std::string::npos);
    CHECK(advice_on(group, Dtype::f16, 3, 1).find("clamp") == std::string::npos);
    CHECK(advice_on(group, Dtype::f32, 3, 0).find("clamp") == std::string::npos);
  }
  CHECK(advice_on("weights", Dtype::f16, 3, 0).find("clamp") == std::string::npos);
}

TEST_CASE("each limit is where its finding begins") {
  struct Limit {
    const char* code;
    double WarnLimits::*limit;
    double told, silent;
    void (*happens)(Run&);
  };
  const auto lossy = [](Run& run) {
    for (int i = 0; i < 10; ++i) run.look({gradient("a", 0.1)});
  };
  const auto rising = [](Run& run) {  // by 4 %, not evenly
    for (int i = 0; i < 41; ++i) run.look({gradient("a", 0.001 * (i + (i % 3)))});
  };
  const auto wavering = [](Run& run) {
    for (int i = 0; i < 41; ++i) run.look({gradient("a", 0.001 * (i / 2 + 20 * (i % 2)))});
  };
  const auto skipping = [](Run& run) {
    for (int i = 0; i < 110; ++i) run.look({gradient("a", 0)}, {1024, 10 * i, i < 20 ? 0 : (i - 20) / 3});
  };
  const auto low = [](Run& run) {
    for (int i = 0; i < 10; ++i) run.look({gradient("a", 0)}, {4, 10 * i, 0});
  };
  const auto falling = [](Run& run) {
    for (int i = 0; i < 12; ++i) run.look({gradient("a", 0)}, {65536, 10 * i, 0, 0, 0});
    run.look({gradient("a", 0)}, {2048, 120, 5, 0, 5});
  };
  const auto stuck = [](Run& run) {
    run.look({gradient("a", 0)}, {1, 100, 0, 0, 0});
    run.look({gradient("a", 0)}, {1, 110, 10, 0, 0});
  };
  const auto one = GENERATE_COPY(values<Limit>({
      {"gradient-underflow", &WarnLimits::underflow, 0.1, 0.101, lossy},
      {"gradient-underflow", &WarnLimits::looks, 10, 11, lossy},
      {"underflow-rising", &WarnLimits::rise, 0.039, 0.042, rising},
      {"underflow-rising", &WarnLimits::confidence, 0.9, 1, wavering},
      {"too-many-overflows", &WarnLimits::overflows, 0.02, 0.05, skipping},
      {"low-scale", &WarnLimits::low_scale, 4.001, 4, low},
      {"falling", &WarnLimits::falling, 5, 5.001, falling},
      {"stuck-at-floor", &WarnLimits::stuck, 10, 11, stuck},
  }));
  CAPTURE(one.code);
  const auto is_told_at = [&](double limit) {
    WarnLimits limits;
    limits.*one.limit = limit;
    Run run(limits);
    one.happens(run);
    const Codes told = run.codes();
    return std::ranges::find(told, one.code) != told.end();
  };
  CHECK(is_told_at(one.told));
  CHECK_FALSE(is_told_at(one.silent));
}

TEST_CASE(
    "what held before a restart holds no longer behind it, as far as it lies behind the step that it went back to") {
  Run run(within(3));
  const double infinite = std::numeric_limits<double>::infinity();
  run.look({gradient("fc1", 0)});
  for (int i = 0; i < 2; ++i) run.look({gradient("fc1", 0, infinite)}, {1, 10 + i, i});
  run.step = 10;
  run.look({gradient("fc1", 0, infinite)}, {1, 10, 0});
  CHECK(run.codes() == Codes{"gradient-not-finite"});
  run.step = 100;
  for (int i = 0; i < 2; ++i) run.look({gradient("fc1", 1)});
  run.step = 5;
  run.look({gradient("fc1", 1)});
  CHECK(run.last.gradients.front().all_zero == Streak{1, 5});
  run.step = 6;
  for (int i = 0; i < 20; ++i) run.look({gradient("fc1", 0, infinite)}, {1, 20 + i, i});
  run.step = 6;
  run.look({gradient("fc1", 0)}, {1, 40, 20});
  CHECK(run.examiner.memory().stuck_steps == 0);
}

TEST_CASE("two lists with a tensor of one name each make one look at it, whichever comes first") {
  for (const bool is_dead_first : {true, false}) {
    Run run(within(4));
    for (int i = 0; i < 3; ++i) {
      run.look({gradient("conv1", is_dead_first ? 1 : 0), gradient("conv1", is_dead_first ? 0 : 1)});
    }
    CHECK(run.last.gradients[is_dead_first ? 0 : 1].all_zero == Streak{3, 0});
    CHECK(run.last.gradients[is_dead_first ? 1 : 0].all_zero.looks == 0);
    CHECK(std::ranges::count(run.codes(), std::string("layer-frozen")) == 0);
  }
}
