// Which scaler of a checkpoint a user means.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/checkpoint/checkpoint.hpp"

namespace tare {

struct Choice {
  /// The path of one scaler, as inspect prints it; the file that it is in; or both, "FILE:PATH". Compared, never
  /// parsed.
  std::optional<std::string> at;
  bool all = false;                                ///< every scaler, where there are several
  bool align = false;                              ///< copies that disagree are meant together
  std::string_view ways = "--at PLACE, or --all";  ///< how whoever asks may choose: for the message
};

/// The loss scalers that `choice` means: exactly one, unless `all`. Throws `refused` where there is none, none at that
/// place, or several to choose from (with the list), and `conflict` where the copies of one disagree and are not to be
/// aligned. With `align` the entries of one group count as one scaler; all of them are given.
std::vector<const Scaler*> chosen_scalers(const Checkpoint& checkpoint, const Choice& choice);

/// What Choice::at needs to mean this loss scaler alone; nothing where it is meant without.
std::optional<std::string> place_to_choose(const Checkpoint& checkpoint, const Scaler& scaler);

struct Fp8Choice {
  std::optional<std::string> layer;  ///< a pattern with * and ?, for the layer's name or path
  bool all = false;
};

/// The FP8 states that `choice` means; without a pattern the only one. Throws as chosen_scalers does.
std::vector<const Scaler*> chosen_fp8(const Checkpoint& checkpoint, const Fp8Choice& choice);

}  // namespace tare
