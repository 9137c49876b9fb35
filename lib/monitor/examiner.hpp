// What is wrong with a run's numbers, from the steps that were looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/monitor/observed.hpp"
#include "lib/monitor/range.hpp"

namespace tare::monitor {

/// From where on something is told.
struct WarnLimits {
  double underflow = 0.05;          ///< share of gradients that are lost
  double rise = 0.01;               ///< of that share, over the last looks
  double confidence = 0.99;         ///< that it rises
  double overflows = 0.02;          ///< share of steps that are skipped
  double low_scale = 8;             ///< the scale
  double looks = 10;                ///< in a row that something has to hold
  std::vector<std::string> ignore;  ///< patterns of names whose gradients do not count
};

/// Bits of headroom with which a greater scale is no help: two growths.
inline constexpr double little_room = 2;

class Examiner {
 public:
  Examiner(WarnLimits limits, Format format) : limits_(std::move(limits)), format_(format) {}

  /// Fills in what the step tells of its gradients, alone and beside the steps before it: `lost`, `headroom_bits`,
  /// `signals` and `findings`. A step whose number is not above the last one's is of another start of the run: what
  /// was seen from that number on is forgotten.
  void examine(ObservedStep& step);

 private:
  /// How many looks in a row something held, and since which step.
  struct Streak {
    double looks = 0;
    std::int64_t began = 0;

    void add(bool holds, std::int64_t step);
  };
  struct Layer {
    Streak lost;      ///< too much of it is zero
    Streak all_zero;  ///< all of it is
    Streak torn;      ///< too much is zero, and there is no room for a greater scale
  };
  struct Look {
    std::int64_t step;
    std::optional<double> lost;
    std::optional<ScalerSeen> scaler;  ///< once its first search for a scale is over
  };

  /// Of counters, which a state that was loaded may have put anywhere.
  static double difference(std::int64_t a, std::int64_t b);
  [[nodiscard]] bool counts(const std::string& name) const;
  [[nodiscard]] bool holds(const Streak& streak) const { return streak.looks >= limits_.looks; }
  void sum_up(ObservedStep& step) const;
  void keep(const ObservedStep& step);
  [[nodiscard]] bool is_settled(const ScalerSeen& scaler);
  void note_streaks(const ObservedStep& step);
  [[nodiscard]] Trend trend() const;
  /// Share of steps that were skipped in the window, if enough of it was seen.
  [[nodiscard]] std::optional<double> skipped_share() const;

  void tell_collapse(ObservedStep& step) const;
  void tell_values(ObservedStep& step) const;
  void tell_gradients(ObservedStep& step) const;
  void tell_layers(ObservedStep& step) const;
  void tell_scaler(ObservedStep& step) const;

  WarnLimits limits_;
  Format format_;
  std::vector<Look> looks_;  ///< of the last thousand steps
  std::int64_t last_skipped_ = -1;
  std::int64_t skipped_at_ = 0;  ///< step of the scaler
  bool is_settled_ = false;
  Streak lost_, low_scale_, overflowing_;
  bool has_been_finite_ = false;
  std::unordered_map<std::string, Layer> layers_;
};

}  // namespace tare::monitor
