// The keys at a checkpoint's root under which the releases of one trainer keep the same scaler: a release that looks
// for another key starts with a fresh scaler and says nothing.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/dialect/found.hpp"

namespace tare {

/// A run of releases, and their key.
struct ReleaseKey {
  std::string_view trainer;      ///< as users name it: "lightning"
  std::string_view title;        ///< as sentences do: "Lightning"
  std::string_view version_key;  ///< at the root, of the trainer's version
  const Dialect* dialect;        ///< of the state under it
  std::string_view with;         ///< what trains so, where that decides too: "FSDP"; empty: the usual way
  std::string_view since;        ///< "1.6", its first release; empty: from the beginning
  std::string_view until;        ///< "1.8", its last one; empty: to the newest
  std::string_view key;          ///< "NativeMixedPrecisionPlugin"
  std::string_view replaced_by;  ///< a key whose state these releases load after it, where it is there; empty: none
  bool holds_several = false;    ///< several states, each under a key of its own below that
};

/// Of every trainer whose releases differ.
std::span<const ReleaseKey> release_keys();

/// Whether `version` ("2.1.4", "2.1.4.post0") is one of `since` to `until`, of which either may be empty. Nothing where
/// it is no number.
std::optional<bool> release_is_in(std::string_view version, std::string_view since, std::string_view until);

/// The row that `scaler` stands under; null where no release keeps it so.
const ReleaseKey* release_key_of(const FoundScaler& scaler);

/// Who keeps it there: "Lightning, 1.9 to 2.1.0" ... REQUIRES: a row of release_keys().
std::string_view place_under(const ReleaseKey& row);

/// Where `version` ("2.2"; without its last number the newest of those) keeps what an older or newer release keeps
/// under `row`. Throws `invalid_argument` for a text that is no version, `refused` where that release has no place for
/// it.
const ReleaseKey& key_in_release(const ReleaseKey& row, std::string_view version);

}  // namespace tare
