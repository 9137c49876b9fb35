// Two halves of a block, each mixed with a secret, are multiplied to 128 bits, which are folded (as wyhash does it).
#include "lib/base/keyed_hash.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace tare {
namespace {

__extension__ using Product = unsigned __int128;
using Key = std::array<std::uint64_t, 3>;

const Key& key() {
  static const Key made = [] {
    Key random;
    const bool is_random = ::getrandom(random.data(), sizeof random, GRND_NONBLOCK) == sizeof random;
    return is_random ? random : Key{0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb};
  }();
  return made;
}

std::uint64_t folded(std::uint64_t a, std::uint64_t b) {
  const Product product = Product{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t word_at(std::string_view text, std::size_t at) {
  std::uint64_t word = 0;
  if (at < text.size()) std::memcpy(&word, text.data() + at, std::min(sizeof word, text.size() - at));
  return word;
}

}  // namespace

std::size_t KeyedHash::operator()(std::string_view name) const noexcept {
  const Key& secret = key();
  constexpr std::size_t block = 2 * sizeof(std::uint64_t);
  std::uint64_t hash = secret[0] ^ name.size();
  for (std::size_t at = 0; at < name.size(); at += block) {
    hash = folded(word_at(name, at) ^ secret[1] ^ hash, word_at(name, at + sizeof(std::uint64_t)) ^ secret[2]);
  }
  return folded(hash ^ secret[1], secret[2]);
}

}  // namespace tare
