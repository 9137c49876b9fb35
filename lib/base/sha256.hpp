// SHA-256 (FIPS 180-4), for manifests that vouch for whole files, and for HMACs.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "lib/base/bytes.hpp"
#include "lib/base/sha256_blocks.hpp"

namespace tare {

using Sha256Digest = std::array<std::byte, 32>;

class Sha256 {
 public:
  explicit Sha256(Sha256Blocks take_blocks = sha256_blocks_fastest()) : take_blocks_(take_blocks) {}

  void add(ByteView bytes);
  /// The digest of all that was added, as 64 lower-case hexadecimal digits. Nothing may be added after it.
  [[nodiscard]] std::string finish();
  /// The same as bytes.
  [[nodiscard]] Sha256Digest digest();

 private:
  Sha256Blocks take_blocks_;
  Sha256State state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, sha256_block_size> rest_{};
  std::uint64_t size_ = 0;  ///< bytes added so far
};

/// The digest of `bytes`, as Sha256::finish() writes it.
std::string sha256_of(ByteView bytes);

}  // namespace tare
