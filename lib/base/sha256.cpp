#include "lib/base/sha256.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tare {

void Sha256::add(ByteView bytes) {
  const std::size_t held = size_ % sha256_block_size;
  size_ += bytes.size();
  if (held > 0) {
    const std::size_t wanted = std::min(sha256_block_size - held, bytes.size());
    std::copy_n(bytes.begin(), wanted, rest_.begin() + static_cast<std::ptrdiff_t>(held));
    bytes = bytes.subspan(wanted);
    if (held + wanted < sha256_block_size) return;
    take_blocks_(state_, rest_.data(), 1);
  }
  const std::size_t blocks = bytes.size() / sha256_block_size;
  take_blocks_(state_, bytes.data(), blocks);
  bytes = bytes.subspan(blocks * sha256_block_size);
  std::copy(bytes.begin(), bytes.end(), rest_.begin());
}

Sha256Digest Sha256::digest() {
  const std::uint64_t bits = size_ * 8;
  constexpr std::size_t length_at = sha256_block_size - sizeof bits;
  Bytes padding(1, std::byte{0x80});
  padding.resize(1 + (sha256_block_size + length_at - 1 - size_ % sha256_block_size) % sha256_block_size);
  padding.resize(padding.size() + sizeof bits);
  store(padding.data() + padding.size() - sizeof bits, bits, std::endian::big);
  add(padding);
  Sha256Digest digest;
  std::byte* to = digest.data();
  for (const std::uint32_t word : state_) {
    store(to, word, std::endian::big);
    to += sizeof word;
  }
  return digest;
}

std::string Sha256::finish() {
  std::string text;
  for (const std::byte byte : digest()) text += fmt::format("{:02x}", byte);
  return text;
}

std::string sha256_of(ByteView bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.finish();
}

}  // namespace tare
