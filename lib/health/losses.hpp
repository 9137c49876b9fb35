// Losses and gradient norms of a run, as far as its logs tell them: what stands out, found in one pass.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/health/course.hpp"
#include "lib/health/thresholds.hpp"

namespace tare {

/// A stretch in which the loss stood far above where it had been.
struct LossRise {
  CoursePlace began;
  double least = 0;  ///< loss before
  double peak = 0;
  double last = 0;          ///< where it stands at the end, smoothed
  std::uint64_t steps = 0;  ///< that it lasted, or lasts
  bool has_ended = false;   ///< it came down again
};

/// Losses that are NaN, or are missing where they stood before, though no step was skipped.
struct LostLoss {
  CoursePlace began;
  std::uint64_t reports = 0;
  bool is_missing = false;  ///< not printed at all: Megatron's line leaves a NaN out
};

/// Gradient norms in a row that are NaN or infinite, though the source tells of no skipped step and the scale did not
/// fall.
struct LostGradients {
  CoursePlace began;
  std::uint64_t reports = 0;
  bool is_counted = false;     ///< the source says of each that no step was skipped
  bool has_zero_loss = false;  ///< of each the loss is 0, as is left of a mean that NaN is kept out of
};

/// Losses of exactly 0 in a row, right behind one that was far from it.
struct ZeroLoss {
  CoursePlace began;
  std::uint64_t reports = 0;
  double before = 0;
};

struct NormSpike {
  CoursePlace began;
  double norm = 0, median = 0;
};

struct Losses {
  std::uint64_t reports = 0;     ///< that tell a loss
  std::uint64_t no_numbers = 0;  ///< reports of a loss or norm that is none, though no skipped step is told
  std::vector<LossRise> rises;
  std::vector<LostLoss> lost;
  std::vector<LostGradients> lost_gradients;
  std::vector<NormSpike> norms;
  std::optional<ZeroLoss> zero;
};

Losses losses_of(const Trace& trace, const Thresholds& thresholds);

/// What is lost in Trace::without_scale: of each kind the first.
Losses losses_without_scale(const Trace& trace, const Thresholds& thresholds);

}  // namespace tare
