// The user's key, by which journals are told from those of others: a journal may have come with a download.
#pragma once

#include <optional>
#include <string>

#include "lib/base/hmac.hpp"

namespace tare {

class JournalKey {
 public:
  static constexpr std::size_t size = 32;

  /// None: signs nothing, and knows no journal for its own.
  JournalKey() = default;
  /// REQUIRES: secret.size() == size.
  explicit JournalKey(ByteView secret) : secret_(Bytes(secret.begin(), secret.end())) {}

  [[nodiscard]] bool exists() const { return secret_.has_value(); }
  /// REQUIRES: exists().
  [[nodiscard]] HmacSha256 sealing() const { return HmacSha256(*secret_); }

 private:
  std::optional<Bytes> secret_;
};

/// The key that lies in `state_folder` ("…/tare"), the file `journal.key`; none where there is none, or the folder is
/// empty. Throws `refused` where it is not this user's alone.
JournalKey journal_key(const std::string& state_folder);

/// The same; where there is none it is made, for this user alone, whole or not at all. None where nothing can be made
/// there (no home, a disk that cannot be written).
JournalKey made_journal_key(const std::string& state_folder);

/// `.local/state/tare` in the home that /etc/passwd names; empty where it names none.
std::string home_state_folder();

}  // namespace tare
