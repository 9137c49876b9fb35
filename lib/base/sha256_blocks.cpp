#include "lib/base/sha256_blocks.hpp"

#include <bit>

#include "lib/base/bytes.hpp"

namespace tare {
namespace {

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

void take_block(Sha256State& state, const std::byte* block) {
  std::array<std::uint32_t, 64> words;
  for (std::size_t t = 0; t < 16; ++t) words[t] = load<std::uint32_t>(block + 4 * t, std::endian::big);
  for (std::size_t t = 16; t < words.size(); ++t) {
    words[t] = small_sigma1(words[t - 2]) + words[t - 7] + small_sigma0(words[t - 15]) + words[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t t = 0; t < words.size(); ++t) {
    const std::uint32_t first = h + big_sigma1(e) + ((e & f) ^ (~e & g)) + sha256_round_constants[t] + words[t];
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
  const Sha256State added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += added[i];
}

}  // namespace

void sha256_blocks_portable(Sha256State& state, const std::byte* blocks, std::size_t count) {
  for (; count > 0; --count, blocks += sha256_block_size) take_block(state, blocks);
}

Sha256Blocks sha256_blocks_fastest() {
  const Sha256Blocks own = sha256_blocks_of_cpu();
  return own == nullptr ? sha256_blocks_portable : own;
}

}  // namespace tare
