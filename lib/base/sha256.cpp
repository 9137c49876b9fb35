#include "lib/base/sha256.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tare {
namespace {

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr std::uint32_t small_sigma0(std::uint32_t x) {
  return std::rotr(x, 7) ^ std::rotr(x, 18) ^ (x >> 3);
}
constexpr std::uint32_t small_sigma1(std::uint32_t x) {
  return std::rotr(x, 17) ^ std::rotr(x, 19) ^ (x >> 10);
}
constexpr std::uint32_t big_sigma0(std::uint32_t x) {
  return std::rotr(x, 2) ^ std::rotr(x, 13) ^ std::rotr(x, 22);
}
constexpr std::uint32_t big_sigma1(std::uint32_t x) {
  return std::rotr(x, 6) ^ std::rotr(x, 11) ^ std::rotr(x, 25);
}

}  // namespace

void Sha256::take_block(const std::byte* block) {
  std::array<std::uint32_t, 64> words;
  for (std::size_t t = 0; t < 16; ++t) words[t] = load<std::uint32_t>(block + 4 * t, std::endian::big);
  for (std::size_t t = 16; t < words.size(); ++t) {
    words[t] = small_sigma1(words[t - 2]) + words[t - 7] + small_sigma0(words[t - 15]) + words[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t t = 0; t < words.size(); ++t) {
    const std::uint32_t first = h + big_sigma1(e) + ((e & f) ^ (~e & g)) + round_constants[t] + words[t];
    const std::uint32_t second = big_sigma0(a) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const std::array<std::uint32_t, 8> added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state_.size(); ++i) state_[i] += added[i];
}

void Sha256::add(ByteView bytes) {
  const std::size_t held = size_ % block_size;
  size_ += bytes.size();
  if (held > 0) {
    const std::size_t wanted = std::min(block_size - held, bytes.size());
    std::copy_n(bytes.begin(), wanted, rest_.begin() + static_cast<std::ptrdiff_t>(held));
    bytes = bytes.subspan(wanted);
    if (held + wanted < block_size) return;
    take_block(rest_.data());
  }
  for (; bytes.size() >= block_size; bytes = bytes.subspan(block_size)) take_block(bytes.data());
  std::copy(bytes.begin(), bytes.end(), rest_.begin());
}

std::string Sha256::finish() {
  const std::uint64_t bits = size_ * 8;
  constexpr std::size_t length_at = block_size - sizeof bits;
  Bytes padding(1, std::byte{0x80});
  padding.resize(1 + (block_size + length_at - 1 - size_ % block_size) % block_size);
  padding.resize(padding.size() + sizeof bits);
  store(padding.data() + padding.size() - sizeof bits, bits, std::endian::big);
  add(padding);
  std::string digest;
  for (const std::uint32_t word : state_) digest += fmt::format("{:08x}", word);
  return digest;
}

}  // namespace tare
