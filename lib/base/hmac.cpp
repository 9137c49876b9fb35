#include "lib/base/hmac.hpp"

#include <algorithm>

namespace tare {

HmacSha256::HmacSha256(ByteView key) {
  std::array<std::byte, sha256_block_size> block{};
  if (key.size() > block.size()) {
    Sha256 shorter;
    shorter.add(key);
    std::ranges::copy(shorter.digest(), block.begin());
  } else {
    std::ranges::copy(key, block.begin());
  }
  auto inner = block;
  auto outer = block;
  for (std::byte& byte : inner) byte ^= std::byte{0x36};
  for (std::byte& byte : outer) byte ^= std::byte{0x5c};
  inner_.add(inner);
  outer_.add(outer);
}

Sha256Digest HmacSha256::finish() {
  outer_.add(inner_.digest());
  return outer_.digest();
}

bool same_digest(const Sha256Digest& a, const Sha256Digest& b) {
  std::byte difference{};
  for (std::size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == std::byte{};
}

}  // namespace tare
