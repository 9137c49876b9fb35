// What trainers call the numbers that they log: which names mean a scale, a step, an overflow.
#pragma once

#include <string_view>

namespace tare {

/// `batch` counts steps within an epoch, or how many samples a step has.
enum class KeyRole { none, step, batch, epoch, scale, overflow, loss, grad_norm };

struct Key {
  KeyRole role = KeyRole::none;
  int rank = 0;               ///< of several that mean the same, the lowest is the surest
  bool is_before = false;     ///< a scale that the step ran with, and not the one that it left
  bool is_doubtful = false;   ///< a scale whose name may be of anything: a loss scale begins with a great power of two
  bool is_logarithm = false;  ///< to the base of two, of a scale
};

/// Of a tag, a column or a key: "train/loss_scale", "loss-scale vs samples", "[metric]grad_scaler".
Key key_of(std::string_view name);

/// The name without what tells its x axis apart: the same series has another name for each.
std::string_view without_axis(std::string_view name);

}  // namespace tare
