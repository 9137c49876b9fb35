#include "lib/health/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "lib/base/about_equal.hpp"
#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/health/readings.hpp"
#include "lib/state/policy_value.hpp"

namespace tare {
namespace {

/// States side by side where it is open which steps of an interval overflowed.
constexpr std::size_t most_states = 8'000;
/// Work for one setting, and for all together, in steps of states.
constexpr std::uint64_t most_work = 3'000'000;
constexpr std::uint64_t most_work_in_all = 40'000'000;
/// Of runs told in intervals: the likeliest.
constexpr std::size_t most_windows_of_others = 100;
/// Of settings that reproduce a trace, so many are told.
constexpr std::size_t most_exact = 2000;

/// DeepSpeed's switch by which each clean step fills the hysteresis.
constexpr std::string_view refill = "consecutive_hysteresis";

/// Printed scales are float32's: compared as such.
bool is_same(double told, double scale) {
  return about_equal(told, scale, 1e-6);
}

/// The framework whose log this is comes first; then those that most runs use.
std::vector<std::string_view> usual_policies(const Trace& trace) {
  struct Home {
    std::string_view kind, policy;
  };
  constexpr Home homes[] = {
      {"megatron-log", "megatron"},     {"deepspeed-log", "deepspeed"},
      {"fairseq-log", "fairseq"},       {"apex-log", "apex"},
      {"paddle-log", "paddle"},         {"dllogger-log", "apex"},
      {"mindformers-log", "mindspore"}, {"mindyolo-log", "mindspore"},
  };
  std::vector<std::string_view> order;
  for (const TraceSource& source : trace.sources) {
    for (const Home& home : homes) {
      if (home.kind == source.kind) order.push_back(home.policy);
    }
  }
  order.insert(order.end(), {"torch", "megatron", "deepspeed", "apex"});
  return order;
}

std::size_t rank_of(const std::vector<std::string_view>& order, const rule::PolicySpec& spec) {
  return static_cast<std::size_t>(std::ranges::find(order, spec.name) - order.begin());
}

std::optional<double> first_scale_of(const ScaleReading& reading) {
  if (reading.before) return reading.before;
  if (!reading.after) return std::nullopt;
  return reading.overflow.value_or(false) && reading.span == 1 ? 2 * *reading.after : *reading.after;
}

/// How far a setting went with the readings.
struct Trial {
  std::size_t readings = 0;  ///< that it agrees with
  bool is_exact = false;
  bool is_open = false;  ///< more possibilities than are followed: neither exact nor contradicted
  std::uint64_t work = 0;
  Contradiction contradiction = {};
};

class Comparison {
 public:
  Comparison(const std::vector<ScaleReading>& readings, std::size_t from, bool may_hide)
      : readings_(readings), from_(from), may_hide_(may_hide) {}

  Trial run(ScalerSet set) const {
    std::uint64_t work = 0;
    double last = 0;
    for (std::size_t i = from_; i < readings_.size(); ++i) {
      const std::span inside = std::span(readings_).subspan(i, interval_of(readings_, i) - i);
      const ScaleReading& reading = readings_[i + inside.size()];
      const bool agrees = reading.skipped == inside.size() && !inside.empty() ? follow_all(set, inside, i, work, last)
                                                                              : follow(set, reading, work, last);
      if (agrees) i += inside.size();
      if (work > most_work) return {.readings = i - from_, .is_open = true, .work = work};
      if (reading.is_fatal ? set.dead().empty() : !agrees) return failed(i, last, work);
      if (reading.is_fatal) break;
    }
    return {.readings = readings_.size() - from_, .is_exact = true, .work = work};
  }

 private:
  /// False where no state is left that agrees, or there are too many to say.
  bool follow(ScalerSet& set, const ScaleReading& reading, std::uint64_t& work, double& expected) const {
    const auto anything = [](const PossibleState&) { return May::be_either; };
    set.join(Joined::by_state);
    for (std::uint64_t i = 0; i < reading.unseen; ++i) {
      if (!step(set, anything, work)) return false;
    }
    if (reading.before && !keep(set, *reading.before, expected)) return false;
    for (PossibleState& possible : set.states()) possible.way = {};
    if (reading.skipped && reading.span > 1) set.join(Joined::by_state_and_skips);
    const auto told = [&](const PossibleState& possible) { return may_be(set, possible, reading); };
    for (std::uint64_t i = 0; i < reading.span; ++i) {
      if (!step(set, told, work)) return false;
      if (reading.skipped && reading.span > 1) keep_skipped(set, *reading.skipped, reading.span - 1 - i);
    }
    return reading.after ? keep(set, *reading.after, expected) : !set.states().empty();
  }

  /// An interval of which every skipped step is told with its scales, in their order: only where it lies is open. Where
  /// none agrees `at` becomes the one that contradicts.
  bool follow_all(ScalerSet& set, std::span<const ScaleReading> skipped, std::size_t& at, std::uint64_t& work,
                  double& expected) const {
    const ScaleReading& whole = *(skipped.data() + skipped.size());
    const auto seen = [](const PossibleState& possible) {
      return static_cast<std::size_t>(possible.way.skipped.least);
    };
    const auto may_at = [&](const PossibleState& possible) {
      if (seen(possible) == skipped.size()) return May::be_clean;
      const auto& before = skipped[seen(possible)].before;
      return !before || is_same(*before, set.scale_of(possible)) ? May::be_either : May::be_clean;
    };
    const auto fits = [&](const PossibleState& to, bool overflow) {
      if (!overflow || seen(to) == 0) return true;
      const auto& after = skipped[seen(to) - 1].after;
      return !after || is_same(*after, set.scale_of(to));
    };
    for (PossibleState& possible : set.states()) possible.way = {};
    set.join(Joined::by_state_and_skips);
    std::size_t furthest = 0;
    for (std::uint64_t i = 0; i < whole.span; ++i) {
      for (const PossibleState& possible : set.states()) furthest = std::max(furthest, seen(possible));
      if (!set.states().empty()) expected = set.scale_of(set.states().front());
      if (!step(set, may_at, fits, work)) return false;
      keep_skipped(set, skipped.size(), whole.span - 1 - i);
    }
    if (whole.after ? keep(set, *whole.after, expected) : !set.states().empty()) return true;
    at += std::min(furthest, skipped.size() - 1);
    return false;
  }

  /// States from which the interval can still come to as many skipped steps as it tells.
  static void keep_skipped(ScalerSet& set, std::uint64_t told, std::uint64_t left) {
    const auto skipped = static_cast<double>(told), more = static_cast<double>(left);
    set.filter([&](const PossibleState& possible) {
      return possible.way.skipped.least <= skipped && skipped <= possible.way.skipped.most + more;
    });
  }

  /// False where there is more to follow than is followed: then the work is beyond its limit.
  template <class MayAt, class Fits>
  static bool step(ScalerSet& set, const MayAt& may_at, const Fits& fits, std::uint64_t& work) {
    work += set.states().size();
    if (work <= most_work && set.step(may_at, fits, most_states)) return true;
    work = most_work + 1;
    return false;
  }
  template <class MayAt>
  static bool step(ScalerSet& set, const MayAt& may_at, std::uint64_t& work) {
    return step(set, may_at, fits_always, work);
  }

  /// A step of which no flag is told shows an overflow by the scale alone.
  May may_be(const ScalerSet& set, const PossibleState& possible, const ScaleReading& reading) const {
    if (reading.overflow) return *reading.overflow ? May::overflow : May::be_clean;
    if (reading.span > 1 || !reading.after || may_hide_) return May::be_either;
    return *reading.after < set.scale_of(possible) && !is_same(*reading.after, set.scale_of(possible)) ? May::overflow
                                                                                                       : May::be_clean;
  }

  static bool keep(ScalerSet& set, double told, double& expected) {
    if (!set.states().empty()) expected = set.scale_of(set.states().front());
    set.filter([&](const PossibleState& possible) { return is_same(told, set.scale_of(possible)); });
    return !set.states().empty();
  }

  [[nodiscard]] Trial failed(std::size_t at, double expected, std::uint64_t work) const {
    const ScaleReading& reading = readings_[at];
    const double told = reading.after.value_or(reading.before.value_or(0));
    return {.readings = at - from_, .work = work, .contradiction = {reading.step, reading.line, told, expected}};
  }

  const std::vector<ScaleReading>& readings_;
  std::size_t from_;
  bool may_hide_;  ///< an overflow may have left the scale where it was, and no flag tells it
};

class Search {
 public:
  explicit Search(const Trace& trace) : order_(usual_policies(trace)), readings_(scale_readings(trace)) {
    found_.readings = readings_.size();
    for (const ScaleReading& reading : readings_) found_.unseen += reading.unseen;
    suggested_ = suggestions_of(readings_);
    found_.has_moved = suggested_.has_moved;
    found_.has_grown = suggested_.has_grown;
    found_.longest_clean = suggested_.longest_clean;
    found_.is_cut = suggested_.are_windows_cut;
  }

  Explanation run() {
    if (readings_.empty()) return std::move(found_);
    if (suggested_.has_intervals) {
      const auto tells = [](const ScaleReading& reading) { return reading.before || reading.after; };
      const std::ptrdiff_t told = std::ranges::find_if(readings_, tells) - readings_.begin();
      if (told == std::ssize(readings_)) return std::move(found_);
      const std::size_t first = interval_of(readings_, static_cast<std::size_t>(told));
      // What happened in the first interval, and before it, is open unless it was clean, or the run began with it.
      const bool is_clean = told == 0 && readings_.front().overflow == false;
      const bool is_whole =
          readings_.front().is_inside && readings_[first].step == static_cast<std::int64_t>(readings_[first].span);
      if (is_clean || is_whole) try_all(0, true);
      if (found_.exact.empty() && readings_.size() > first + 1) try_all(first + 1, true);
      return std::move(found_);
    }
    for (const bool may_hide : {false, true}) {
      try_all(0, may_hide);
      if (found_.exact.empty() && first_overflow() > 0) try_all(first_overflow(), may_hide);
      if (!found_.exact.empty() || has_flags()) break;
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool has_flags() const {
    return std::ranges::all_of(readings_, [](const ScaleReading& r) { return r.overflow || r.span > 1; });
  }

  /// The first reading that is told to overflow, or shows it: from there on a counter is known.
  [[nodiscard]] std::size_t first_overflow() const {
    for (std::size_t i = 1; i < readings_.size(); ++i) {
      const ScaleReading& reading = readings_[i];
      const bool falls = reading.after && readings_[i - 1].after && *reading.after < *readings_[i - 1].after;
      if (reading.span == 1 && (reading.overflow.value_or(false) || falls)) return i;
    }
    return 0;
  }

  void try_all(std::size_t from, bool may_hide) {
    std::vector<const rule::PolicySpec*> specs;
    for (const rule::PolicySpec& spec : rule::policies()) {
      if (spec.driver == rule::Driver::overflow && parameter_for(spec, "growth_interval") != nullptr) {
        specs.push_back(&spec);
      }
    }
    std::ranges::stable_sort(specs,
                             [&](const auto* a, const auto* b) { return rank_of(order_, *a) < rank_of(order_, *b); });
    found_.from_reading = from;
    for (const rule::PolicySpec* spec : specs) try_policy(*spec, from, may_hide);
    if (found_.exact.empty()) found_.from_reading = 0;
  }

  void try_policy(const rule::PolicySpec& spec, std::size_t from, bool may_hide) {
    const bool has_hysteresis = parameter_for(spec, "hysteresis") != nullptr;
    // Of a rule without one each overflow shows.
    if (may_hide && !has_hysteresis && !suggested_.has_intervals) return;
    std::vector<double> some = suggested_.hysteresis;
    for (const double window : windows_to_try()) {
      for (const double hysteresis : has_hysteresis ? some : std::vector<double>{1}) {
        if (found_.exact.size() == most_exact || work_ > most_work_in_all) {
          found_.is_cut = true;
          return;
        }
        Sweep sweep{.policy = std::string(spec.name), .variant = std::string(spec.variant)};
        sweep.windows = {window};
        if (has_hysteresis) sweep.hysteresis = {hysteresis};
        add_factors(sweep, spec);
        try_setting(spec, sweep, from, may_hide);
        if (hysteresis <= 1 || !has_parameter(spec, refill)) continue;
        sweep.parameters.set(refill, 1);
        try_setting(spec, sweep, from, may_hide);
      }
    }
  }

  static bool has_parameter(const rule::PolicySpec& spec, std::string_view name) {
    return std::ranges::find(spec.parameters, name, &rule::ParameterSpec::name) != spec.parameters.end();
  }

  /// Where intervals leave many open, other policies are asked for those windows that one has explained the run with,
  /// and their neighbours: some count one step more.
  [[nodiscard]] std::vector<double> windows_to_try() const {
    if (!suggested_.has_intervals || found_.exact.empty()) return suggested_.windows;
    std::vector<double> windows;
    for (const SimulatedSetting& setting : found_.exact) {
      const double window = window_of(setting);
      for (const double near : {window, window - 1, window + 1}) {
        if (near >= 1 && std::ranges::find(windows, near) == windows.end()) windows.push_back(near);
      }
      if (windows.size() >= most_windows_of_others) break;
    }
    return windows;
  }

  static double window_of(const SimulatedSetting& setting) {
    const auto* const parameter = parameter_for(rule::spec_of(setting.start.policy.id), "growth_interval");
    return parameter == nullptr ? 0 : rule::value_of(rule::read_parameter(setting.start.policy.params, *parameter));
  }

  /// Only what the readings show to be other than the policy's own.
  void add_factors(Sweep& sweep, const rule::PolicySpec& spec) const {
    const auto put = [&](std::string_view role, const std::vector<double>& values) {
      const rule::ParameterSpec* parameter = parameter_for(spec, role);
      if (parameter == nullptr || values.empty()) return;
      const rule::RuleParams defaults = spec.defaults();
      const double own = rule::value_of(rule::read_parameter(defaults, *parameter));
      if (!is_same(own, values.front())) sweep.parameters.set(parameter->name, values.front());
    };
    put("growth_factor", suggested_.growth_factors);
    put("backoff_factor", suggested_.backoff_factors);
    if (const auto* ceiling = parameter_for(spec, "max_scale")) {
      const rule::Number own = rule::read_parameter(spec.defaults(), *ceiling);
      const bool is_bounded = own.kind != rule::NumberKind::none;
      if (is_bounded && suggested_.highest > rule::value_of(own)) {
        sweep.parameters.set(ceiling->name, suggested_.highest);
      }
    }
  }

  /// The scale that was told last before that reading.
  [[nodiscard]] std::optional<double> left_before(std::size_t from) const {
    while (from > 0 && !readings_[from - 1].after) --from;
    return from > 0 ? readings_[from - 1].after : std::nullopt;
  }

  void try_setting(const rule::PolicySpec&, const Sweep& sweep, std::size_t from, bool may_hide) {
    const auto scale = first_scale_of(readings_[from]);
    const auto left = left_before(from);
    const auto before = left ? left : scale;
    if (!before) return;
    std::vector<SimulatedSetting> settings;
    try {
      const auto first = from > 0 ? before : scale;
      settings = settings_of(sweep, first ? std::vector<double>{*first} : std::vector<double>());
    } catch (const Error&) {
      return;  // a window or factor that this policy does not take
    }
    for (const SimulatedSetting& setting : settings) {
      ++found_.tried;
      ScalerSet set(setting.start, 0);
      if (from > 0 && suggested_.has_intervals) {
        add_all(set, setting, *before, sweep.hysteresis.empty() ? 1 : sweep.hysteresis.front());
      } else if (from > 0) {
        add_spent(set, setting, *before, sweep.hysteresis.empty() ? 1 : sweep.hysteresis.front());
      }
      take(setting, Comparison(readings_, from, may_hide).run(set));
    }
  }

  /// In the middle of a run overflows may have used up some of the hysteresis.
  static void add_spent(ScalerSet& set, const SimulatedSetting& setting, double scale, double hysteresis) {
    rule::RuleState state = setting.start.state;
    rule::Counters counters;
    for (double spent = 1; spent < hysteresis; ++spent) {
      if (rule::advance(setting.start.policy, state, true, counters).raised != rule::Raised::nothing) return;
      state = rule::with_scale(setting.start.policy, state, scale).state;
      set.start_also(state);
    }
  }

  /// All states with that scale: whatever was counted until then.
  static void add_all(ScalerSet& set, const SimulatedSetting& setting, double scale, double hysteresis) {
    const rule::Policy& policy = setting.start.policy;
    rule::RuleState begin = setting.start.state;
    rule::Counters counters;
    for (double spent = 0; spent < hysteresis; ++spent) {
      rule::RuleState state = begin;
      for (std::size_t clean = 0; clean < most_states / 2; ++clean) {
        if (rule::scale_of(policy.id, state) != scale) break;
        if (spent > 0 || clean > 0) set.start_also(state);
        if (rule::advance(policy, state, false, counters).raised != rule::Raised::nothing) break;
      }
      if (rule::advance(policy, begin, true, counters).raised != rule::Raised::nothing) return;
      begin = rule::with_scale(policy, begin, scale).state;
    }
  }

  void take(const SimulatedSetting& setting, const Trial& trial) {
    work_ += trial.work;
    if (trial.is_exact) {
      found_.exact.push_back(setting);
    } else if (trial.is_open) {
      ++found_.left_open;
      found_.is_cut = true;
    } else if (!found_.nearest || trial.readings > furthest_) {
      furthest_ = trial.readings;
      found_.nearest = setting;
      found_.first_contradiction = trial.contradiction;
    }
  }

  std::vector<std::string_view> order_;
  std::vector<ScaleReading> readings_;
  Suggestions suggested_;
  Explanation found_;
  std::size_t furthest_ = 0;
  std::uint64_t work_ = 0;
};

}  // namespace

Explanation explain(const Trace& trace) {
  observe(trace, 0);  // refuses what tells of overflows alone
  return Search(trace).run();
}

std::string text_of(const SimulatedSetting& setting) {
  std::string text = full_name(rule::spec_of(setting.start.policy.id));
  for (const auto& [key, value] : setting.told) {
    const bool is_whole = value == std::floor(value) && std::abs(value) < 1e6;
    text += fmt::format(", {} {}", key, is_whole ? fmt::format("{:.0f}", value) : float_text(value));
  }
  return text;
}

}  // namespace tare
