// What is wrong with a run's numbers, from the steps that were looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/monitor/memory.hpp"
#include "lib/monitor/observed.hpp"
#include "lib/monitor/range.hpp"

namespace tare::monitor {

/// From where on something is told.
struct WarnLimits {
  double underflow = 0.05;          ///< share of gradients that are lost
  double zeros = 0.5;               ///< share of a layer's gradients that are zero, of whatever cause
  double rise = 0.01;               ///< of that share, over the last looks
  double confidence = 0.99;         ///< that it rises
  double overflows = 0.02;          ///< share of steps that are skipped
  double low_scale = 8;             ///< the scale
  double falling = 4;               ///< halvings of the scale, less its doublings, over the last looks
  double stuck = 10;                ///< steps in a row that are skipped at one scale
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

  [[nodiscard]] const Memory& memory() const { return memory_; }
  /// Goes on from what another examiner saw.
  void remember(Memory memory) { memory_ = std::move(memory); }

 private:
  /// Of counters, which a state that was loaded may have put anywhere.
  static double difference(std::int64_t a, std::int64_t b);
  [[nodiscard]] bool counts(const std::string& name) const;
  [[nodiscard]] bool holds(const Streak& streak) const { return streak.looks >= limits_.looks; }
  void sum_up(ObservedStep& step) const;
  void count_layers(ObservedStep& step) const;
  void go_back(std::int64_t step);
  void keep(const ObservedStep& step);
  [[nodiscard]] bool is_settled(const ScalerSeen& scaler);
  void note_streaks(const ObservedStep& step);
  void note_stuck(const ObservedStep& step);
  [[nodiscard]] Trend trend() const;
  /// Share of steps that were skipped in the window, if enough of it was seen.
  [[nodiscard]] std::optional<double> skipped_share() const;
  /// The last ones in the window that saw one settled scaler go on: whose count of steps never fell.
  [[nodiscard]] std::span<const Look> settled_looks() const;

  void tell_collapse(ObservedStep& step) const;
  void tell_values(ObservedStep& step) const;
  void tell_gradients(ObservedStep& step) const;
  void tell_layers(ObservedStep& step) const;
  void tell_stuck(ObservedStep& step) const;
  void tell_scaler(ObservedStep& step) const;
  void tell_fall(ObservedStep& step) const;
  void tell_oscillation(ObservedStep& step) const;

  WarnLimits limits_;
  Format format_;
  Memory memory_;
};

}  // namespace tare::monitor
