// A million random steps a policy: when a scale may grow, shrink or stand still, and what its counters count.
//
// The growth pattern is stated here a second time, from the notes on each framework and not from its rule: `first`
// clean steps after the start or an overflow, then every `period`, in terms of the window.
#include <cfloat>
#include <cmath>
#include <map>
#include <random>

#include "tests/unit/rule/setup.hpp"

using namespace tare;
using namespace tare::rule;
using namespace tare::test;

namespace {

constexpr int64_t steps = 1000000;

/// What the counters tell: the field growth_tracker counts clean steps of the current period; or the field step counts
/// all steps and the field last_overflow_step holds the last that overflowed (or grew, too). BMTrain's counts what is
/// clean between changes: an overflow at the floor is none, and a window that ends at the ceiling goes on.
enum class Counts { clean, between_changes, since_overflow, since_change };

struct Pattern {
  int64_t first;   // clean steps before the first growth, beyond the window
  int64_t period;  // clean steps between growths, beyond the window
  Counts counts;
  double floor;  // the framework's own bounds
  double ceiling;
};

const double highest = INFINITY;
const std::map<std::string, Pattern> patterns = {
    {"torch", {0, 0, Counts::clean, 0, FLT_MAX}},
    {"apex", {0, 0, Counts::clean, 0, 16777216}},
    {"apex_contrib", {0, 0, Counts::since_overflow, 1, highest}},
    {"apex_fp16_utils", {0, 0, Counts::since_overflow, 1, highest}},
    {"apex_hysteresis", {0, 0, Counts::clean, 0, FLT_MAX}},
    {"nemo", {0, 0, Counts::clean, 0, FLT_MAX}},
    {"megatron", {0, 0, Counts::clean, 1, highest}},
    {"deepspeed/zero", {1, 0, Counts::since_overflow, 1, highest}},
    {"deepspeed/fused", {1, 0, Counts::since_overflow, 1, highest}},
    {"deepspeed/unfused", {1, 0, Counts::since_overflow, 0.25, highest}},
    {"fairseq", {0, 0, Counts::since_overflow, 1e-4, highest}},
    {"colossalai", {0, 0, Counts::clean, 0, highest}},
    {"bmtrain", {0, 0, Counts::between_changes, 1, highest}},
    {"torch_npu", {0, 0, Counts::clean, 0, FLT_MAX}},
    {"mindspore/dynamic", {0, 0, Counts::since_change, 1, highest}},
    {"mindspore_amp", {0, 0, Counts::clean, 1, FLT_MAX}},
    {"mindspore_manager", {0, 0, Counts::since_overflow, 1, highest}},
    {"mindformers_adaptive", {0, 0, Counts::since_change, 1, highest}},
    {"paddle", {0, 0, Counts::clean, 0, highest}},
    {"paddle_static", {0, 0, Counts::clean, 1, FLT_MAX}},
    {"oneflow", {0, 0, Counts::clean, 1, FLT_MAX}},
    {"keras", {0, 0, Counts::clean, 0, highest}},
    {"tf_keras", {0, 0, Counts::clean, 1, FLT_MAX}},
    {"flax", {1, 1, Counts::clean, FLT_MIN, FLT_MAX}},
    {"jmp", {0, 0, Counts::clean, 1, FLT_MAX}},
};

bool never_moves(const std::string& name) {
  return name == "constant" || name == "deepspeed/static" || name == "mindspore/fixed" || name == "layerwise" ||
         name == "megatron/constant" || name == "megatron/none";
}

/// Three overflows lead to window 1 from every level: there is no list in which its window stays.
bool has_no_period(const std::string& name) {
  return name == "mindformers_adaptive/paper";
}

/// Counts failures instead of asserting a million times.
struct Findings {
  int64_t wrong_growth = 0;
  int64_t wrong_backoff = 0;
  int64_t wrong_counter = 0;
  int64_t out_of_bounds = 0;
  int64_t wrong_skip = 0;
};

class Walk {
 public:
  Walk(const PolicySpec& spec, int64_t window)
      : policy_(with_window(spec, window)), pattern_(patterns.at(title(spec))), window_(window) {
    set(policy_, "raise_error_at_min_scale", 0);  // false: an error would end the walk
    set(policy_, "backoff_factor", 0.5);
    start();
  }

  void step(bool overflow, Findings& findings) {
    const double before = scale_of(policy_.id, state_);
    const Outcome<RuleState> outcome = next(policy_, state_, overflow);
    if (outcome.raised != Raised::nothing) {  // apex at 0, fairseq at its minimum, the manager after 1000: start anew
      start();
      return;
    }
    findings.wrong_skip += outcome.skip == overflow ? 0 : 1;
    state_ = outcome.state;
    const double after = scale_of(policy_.id, state_);
    if (!overflow) ++clean_;
    if (overflow && (pattern_.counts != Counts::between_changes || before > pattern_.floor)) clean_ = 0;
    if (overflow) findings.wrong_backoff += backs_off_as_stated(before, after) ? 0 : 1;
    if (!overflow) findings.wrong_growth += grows_as_stated(before, after) ? 0 : 1;
    findings.out_of_bounds += after >= pattern_.floor && after <= pattern_.ceiling ? 0 : 1;
    if (overflow || (pattern_.counts == Counts::since_change && growth_is_due())) last_ = step_;
    if (pattern_.counts == Counts::between_changes && after > before) clean_ = 0;
    ++step_;
    findings.wrong_counter += counts_as_stated() ? 0 : 1;
  }

 private:
  void start() {
    state_ = initial_state(policy_);
    clean_ = 0;
    step_ = counter("step");
    last_ = counter("last_overflow_step");
  }

  bool growth_is_due() const {
    const int64_t beyond_first = clean_ - window_ - pattern_.first;
    return beyond_first >= 0 && beyond_first % (window_ + pattern_.period) == 0;
  }

  /// At once, or later where a hysteresis is at work.
  bool backs_off_as_stated(double before, double after) const {
    const double half = std::fmax(before * 0.5, pattern_.floor);
    return after == before || after == half || after == static_cast<double>(static_cast<float>(half));
  }

  bool counts_as_stated() const {
    if (pattern_.counts == Counts::between_changes) return counter("growth_tracker") == clean_;
    if (pattern_.counts == Counts::clean) return counter("growth_tracker") == clean_ % (window_ + pattern_.period);
    return counter("step") == step_ && counter("last_overflow_step") == last_;
  }

  bool grows_as_stated(double before, double after) const {
    if (!growth_is_due()) return after == before;
    if (before == 0.0 || std::isinf(before)) return after == before;
    const bool capped = before * 2.0 > pattern_.ceiling;
    if (capped) return after == before || after == pattern_.ceiling;
    return after == before * 2.0 || (before * 2.0 > FLT_MAX && std::isinf(after));
  }

  /// 0 where the policy has none.
  int64_t counter(std::string_view role) const {
    const double value = field(policy_, state_, role);
    return std::isnan(value) ? 0 : static_cast<int64_t>(value);
  }

  Policy policy_;
  Pattern pattern_;
  int64_t window_;
  int64_t clean_ = 0;  // clean steps since the start or the last overflow
  int64_t step_ = 0;   // what the fields should hold, where there are such
  int64_t last_ = 0;
  RuleState state_;
};

}  // namespace

TEST_CASE("a million random steps keep each policy's growth pattern, bounds, counters and skips") {
  for (const PolicySpec& spec : policies()) {
    if (never_moves(title(spec)) || has_no_period(title(spec))) continue;
    CAPTURE(title(spec));
    Findings findings;
    std::mt19937 random(20240);
    for (const int64_t window : {1, 2, 3, 7, 50}) {
      Walk walk(spec, window);
      // Rates that make the scale climb, fall, and wander, in turn.
      for (const double rate : {0.001, 0.9, 0.02, 0.3, 0.5 / static_cast<double>(window)}) {
        std::bernoulli_distribution overflows(rate);
        for (int64_t i = 0; i < steps / 25; ++i) walk.step(overflows(random), findings);
      }
    }
    CHECK(findings.wrong_growth == 0);
    CHECK(findings.wrong_backoff == 0);
    CHECK(findings.wrong_counter == 0);
    CHECK(findings.out_of_bounds == 0);
    CHECK(findings.wrong_skip == 0);
  }
  CHECK(patterns.size() + 7 == policies().size());
}

TEST_CASE("a scale that never moves never does") {
  for (const PolicySpec& spec : policies()) {
    if (!never_moves(title(spec))) continue;
    CAPTURE(title(spec));
    const Policy policy = make_policy(spec);
    RuleState state = initial_state(policy);
    const double scale = scale_of(policy.id, state);
    std::mt19937 random(7);
    bool moved = false;
    for (int64_t i = 0; i < steps; ++i) {
      state = next(policy, state, (random() & 1u) != 0).state;
      moved |= scale_of(policy.id, state) != scale;
    }
    CHECK_FALSE(moved);
  }
}

namespace {

/// Steps a typed rule at random and reports how often `holds` did not.
template <class Params, class State, class Holds>
int64_t broken(const Params& params, double rate, const Holds& holds) {
  std::mt19937 random(99);
  std::bernoulli_distribution overflows(rate);
  State state = initial(params);
  int64_t count = 0;
  for (int64_t i = 0; i < steps; ++i) {
    const State before = state;
    const bool overflow = overflows(random);
    state = next(state, params, overflow).state;
    count += holds(before, state, overflow) ? 0 : 1;
  }
  return count;
}

}  // namespace

TEST_CASE("megatron backs off from the H-th overflow since a growth on, and a growth alone fills the hysteresis") {
  MegatronParams params;
  params.growth_interval = 4;
  params.hysteresis = 3;
  int64_t overflows = 0;
  CHECK(broken<MegatronParams, MegatronState>(params, 0.3, [&](const auto& before, const auto& after, bool overflow) {
          overflows = overflow ? overflows + 1 : overflows;
          if (!overflow && after.growth_tracker == 0) overflows = 0;
          const bool back = overflow && overflows >= 3;
          const float expected = back ? std::fmax(before.scale * 0.5f, 1.0f) : before.scale;
          return after.hysteresis_tracker == 3 - overflows && (!overflow || after.scale == expected);
        }) == 0);
}

TEST_CASE("nemo backs off from the H-th overflow in a row on, and a clean step fills the hysteresis") {
  NemoParams params;
  params.growth_interval = 3;
  params.hysteresis = 2;
  int64_t in_a_row = 0;
  CHECK(broken<NemoParams, NemoState>(params, 0.4, [&](const auto& before, const auto& after, bool overflow) {
          in_a_row = overflow ? in_a_row + 1 : 0;
          const float expected = in_a_row >= 2 ? before.scale * 0.5f : before.scale;
          return after.hysteresis_tracker == 2 - in_a_row && (!overflow || after.scale == expected);
        }) == 0);
}

TEST_CASE("paddle backs off at every n-th overflow in a row") {
  PaddleParams params;
  params.incr_every_n_steps = 3;
  params.decr_every_n_nan_or_inf = 3;
  int64_t in_a_row = 0;
  CHECK(broken<PaddleParams, PaddleState>(params, 0.5, [&](const auto& before, const auto& after, bool overflow) {
          in_a_row = overflow ? in_a_row + 1 : 0;
          const bool back = overflow && in_a_row % 3 == 0;
          return !overflow || after.scale == (back ? before.scale * 0.5f : before.scale);
        }) == 0);
}

TEST_CASE("deepspeed's hysteresis stays between 1 and its start, and filled on clean steps when consecutive") {
  for (const bool consecutive : {false, true}) {
    DeepspeedZeroParams params;
    params.scale_window = 3;
    params.delayed_shift = 3;
    params.consecutive_hysteresis = consecutive;
    params.raise_error_at_min_scale = false;
    int64_t step = 0;
    CHECK(broken<DeepspeedZeroParams, DeepspeedZeroState>(
              params, 0.4, [&](const auto&, const auto& after, bool overflow) {
                ++step;
                const bool in_range = after.cur_hysteresis >= 1 && after.cur_hysteresis <= 3;
                const bool filled = overflow || !consecutive || after.cur_hysteresis == 3;
                return in_range && filled && after.cur_iter == step &&
                       (!overflow || after.last_overflow_iter == step - 1);
              }) == 0);
  }
}

TEST_CASE("mindformers' window is always its level's, or the hidden 1, and moves as its counts say") {
  MindformersAdaptiveParams params;
  params.max_scale_window = 8;
  params.min_scale_window = 2;
  params.scale_window = 4;
  params.window_list = window_list_of(params);
  bool hidden = false;
  bool top = false;
  CHECK(broken<MindformersAdaptiveParams, MindformersAdaptiveState>(
            params, 0.12, [&](const auto& before, const auto& after, bool overflow) {
              const bool is_hidden = after.list_index == -1;
              hidden |= is_hidden;
              top |= after.list_index == params.window_list.count - 1;
              const bool right = is_hidden ? after.scale_window == 1
                                           : after.scale_window == params.window_list.values[after.list_index];
              const bool counts = after.scale_window_up_count >= 0 && after.scale_window_up_count <= 3 &&
                                  after.scale_window_down_count >= 0 && after.scale_window_down_count <= 3;
              const int32_t moved = after.list_index - before.list_index;
              const bool climbs = moved == 0 || moved == 1 || (overflow && is_hidden);
              return right && counts && climbs;
            }) == 0);
  CHECK(hidden);
  CHECK(top);
}

TEST_CASE("layerwise scales are powers of two within their bounds, whatever the statistics") {
  LayerwiseParams params;
  LayerwiseState state;
  std::mt19937 random(3);
  std::uniform_real_distribution<float> exponent(-30.0f, 20.0f);
  const float scales[] = {1.0f, 16.0f, 256.0f, 1024.0f};
  int64_t wrong = 0;
  for (int64_t i = 0; i < steps; ++i) {
    const float gradient = std::exp2(exponent(random));
    const LayerStatistics seen{0.0f, gradient, 0.0f, 0.05f, gradient * 0.2f, 16.0, scales[random() % 4]};
    const Outcome<LayerwiseState> outcome = next(state, params, seen);
    state = outcome.state;
    int power = 0;
    const bool power_of_two = state.scale == 0.0f || std::frexp(state.scale, &power) == 0.5f;
    const bool fits = state.scale <= 16.0f && state.accumulated <= 1024.0f && outcome.raised == Raised::nothing;
    wrong += power_of_two && fits && state.cur_iter == i + 1 ? 0 : 1;
  }
  CHECK(wrong == 0);
}
