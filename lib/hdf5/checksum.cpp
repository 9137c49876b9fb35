#include "lib/hdf5/checksum.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace tare {
namespace {

using State = std::array<std::uint32_t, 3>;

void mix(State& s) {
  auto& [a, b, c] = s;
  a = (a - c) ^ std::rotl(c, 4), c += b;
  b = (b - a) ^ std::rotl(a, 6), a += c;
  c = (c - b) ^ std::rotl(b, 8), b += a;
  a = (a - c) ^ std::rotl(c, 16), c += b;
  b = (b - a) ^ std::rotl(a, 19), a += c;
  c = (c - b) ^ std::rotl(b, 4), b += a;
}

void finish(State& s) {
  auto& [a, b, c] = s;
  c = (c ^ b) - std::rotl(b, 14);
  a = (a ^ c) - std::rotl(c, 11);
  b = (b ^ a) - std::rotl(a, 25);
  c = (c ^ b) - std::rotl(b, 16);
  a = (a ^ c) - std::rotl(c, 4);
  b = (b ^ a) - std::rotl(a, 14);
  c = (c ^ b) - std::rotl(b, 24);
}

}  // namespace

std::uint32_t hdf5_checksum(ByteView bytes) {
  constexpr std::size_t block = 12;
  State state;
  state.fill(0xdeadbeef + static_cast<std::uint32_t>(bytes.size()));
  while (!bytes.empty()) {
    std::array<std::byte, block> words{};
    const std::size_t count = std::min(block, bytes.size());
    std::copy_n(bytes.begin(), count, words.begin());
    for (std::size_t i = 0; i < state.size(); ++i) state[i] += load_le<std::uint32_t>(words.data() + 4 * i);
    bytes = bytes.subspan(count);
    bytes.empty() ? finish(state) : mix(state);
  }
  return state[2];
}

}  // namespace tare
