// HMAC-SHA256 (RFC 2104): who wrote bytes, for whoever has the same key.
#pragma once

#include "lib/base/sha256.hpp"

namespace tare {

class HmacSha256 {
 public:
  explicit HmacSha256(ByteView key);

  void add(ByteView bytes) { inner_.add(bytes); }
  /// Of all that was added. Nothing may be added after it.
  [[nodiscard]] Sha256Digest finish();

 private:
  Sha256 inner_;
  Sha256 outer_;
};

/// Takes the same time wherever the digests differ, so that nobody can guess one byte by byte.
bool same_digest(const Sha256Digest& a, const Sha256Digest& b);

}  // namespace tare
