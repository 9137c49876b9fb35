// All states that a scaler may be in where it is not known which steps overflow: each state once, with the least and
// the greatest of what may have happened on the ways to it. Rules that count iterations look at how long ago something
// was: states that differ in all counts by the same are one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/rule/policy.hpp"
#include "kernels/rule/running.hpp"

namespace tare {

/// The least and the greatest of something that is not known exactly.
struct Between {
  double least = 0, most = 0;

  void add(double value) {
    least += value;
    most += value;
  }
  void include(const Between& other) {
    least = other.least < least ? other.least : least;
    most = other.most > most ? other.most : most;
  }
};

/// What happened on the ways to one state.
struct WayThere {
  Between skipped, below, log2_sum, steps;

  void include(const WayThere& other);
};

struct PossibleState {
  rule::RuleState state;
  WayThere way;
};

/// What may happen in a step.
enum class May : std::uint8_t { be_clean, overflow, be_either };

/// Which ways are joined: all that lead to one state, or of these those on which as many steps were skipped.
enum class Joined : std::uint8_t { by_state, by_state_and_skips };

/// Keeps whatever comes of a step.
inline constexpr auto fits_always = [](const PossibleState&, bool) { return true; };

class ScalerSet {
 public:
  ScalerSet(const rule::RunningState& start, double below);
  /// From the next step on.
  void join(Joined joined) { joined_ = joined; }
  /// One more state to start from.
  void start_also(const rule::RuleState& state) { states_.push_back({state, {}}); }

  /// One step for every state, each with what may happen at its scale. `most` states at the most: false where there
  /// would be more; then nothing has changed.
  template <class MayAt>
  bool step(const MayAt& may_at, std::size_t most) {
    return step(
        may_at, [](const PossibleState&, bool) { return true; }, most);
  }

  /// The same, and of what comes of it only what `fits(state, overflow)` is kept.
  template <class MayAt, class Fits>
  bool step(const MayAt& may_at, const Fits& fits, std::size_t most) {
    if (states_.size() == 1) {
      const May may = may_at(states_.front());
      if (may != May::be_either) {
        step_alone(may == May::overflow);
        filter([&](const PossibleState& to) { return fits(to, may == May::overflow); });
        return true;
      }
    }
    begin_next();
    const std::vector<WayThere> dead_before = dead_;
    for (const PossibleState& possible : states_) {
      const May may = may_at(possible);
      if (may != May::overflow) follow(possible, false, fits);
      if (may != May::be_clean) follow(possible, true, fits);
      if (next_.size() > most) {
        dead_ = dead_before;
        return false;
      }
    }
    states_.swap(next_);
    ++steps_;
    if (dead_.size() > dead_before.size() && !first_death_) first_death_ = steps_;
    return true;
  }

  /// Drops the states that `keep` refuses.
  template <class Keep>
  void filter(const Keep& keep) {
    std::erase_if(states_, [&](const PossibleState& possible) { return !keep(possible); });
  }

  [[nodiscard]] const std::vector<PossibleState>& states() const { return states_; }
  [[nodiscard]] std::vector<PossibleState>& states() { return states_; }
  [[nodiscard]] const rule::Policy& policy() const { return policy_; }
  [[nodiscard]] double scale_of(const PossibleState& possible) const {
    return rule::scale_of(policy_.id, possible.state);
  }
  /// Ways on which the rule raised, so that the run ended there.
  [[nodiscard]] const std::vector<WayThere>& dead() const { return dead_; }
  [[nodiscard]] std::optional<std::uint64_t> first_death() const { return first_death_; }

 private:
  /// The usual case, without a search for equals.
  void step_alone(bool overflow);
  /// Carries a state one step on; false where the rule raised, and its way ended.
  bool carry_on(PossibleState& possible, bool overflow);
  template <class Fits>
  void follow(const PossibleState& from, bool overflow, const Fits& fits) {
    PossibleState to = from;
    if (carry_on(to, overflow) && fits(to, overflow)) put(to);
  }
  void put(const PossibleState& possible);
  void begin_next();
  void grow_index();

  /// No policy has more fields.
  static constexpr std::size_t most_fields = 8;
  /// What tells two states apart.
  using Key = std::array<std::uint64_t, most_fields + 1>;
  enum class Counts : std::uint8_t { itself, nothing, since };
  /// Where a key of the next states stands: open addressing, emptied by a new round.
  struct Place {
    std::uint32_t round = 0, index = 0;
  };

  [[nodiscard]] Key key_of(const PossibleState& possible) const;

  rule::Policy policy_;
  double below_;
  const rule::PolicySpec* spec_;
  Joined joined_ = Joined::by_state;
  std::array<Counts, most_fields> counts_{};  ///< of each field
  const rule::FieldSpec* now_ = nullptr;      ///< the field that counts iterations
  std::vector<PossibleState> states_, next_;
  std::vector<Key> keys_;  ///< of next_
  std::vector<WayThere> dead_;
  std::vector<Place> index_;
  std::uint32_t round_ = 0;
  std::uint64_t steps_ = 0;
  std::optional<std::uint64_t> first_death_;
};

}  // namespace tare
