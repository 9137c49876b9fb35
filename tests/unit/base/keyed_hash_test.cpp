// Names that a file's maker chose to collide do not.
#include "lib/base/keyed_hash.hpp"

#include <cstdint>
#include <cstring>
#include <set>
#include <string>

#include "tests/catch.hpp"

using namespace tare;

namespace {

/// A block of MurmurHash64A, which libstdc++ hashes text with, that is mixed to `wanted`.
std::string block_of(std::uint64_t wanted) {
  constexpr std::uint64_t inverse = 0x5f7a0ea7e59b19bd;  // of its factor
  wanted *= inverse;
  wanted ^= wanted >> 47;
  wanted *= inverse;
  std::string block(sizeof wanted, '\0');
  std::memcpy(block.data(), &wanted, sizeof wanted);
  return block;
}

/// The two of each pair of blocks differ in the highest bit of both, which falls out in the second.
std::string colliding_name(unsigned number) {
  std::string name;
  for (unsigned bit = 0; bit < 10; ++bit) {
    const std::string block = block_of(0x0123456789abcdef ^ std::uint64_t{number >> bit & 1} << 63);
    name += block + block;
  }
  return name;
}

}  // namespace

TEST_CASE("names that all collide for the standard library's hash do not collide") {
  std::set<std::size_t> standard;
  std::set<std::size_t> keyed;
  for (unsigned i = 0; i < 1024; ++i) {
    standard.insert(std::hash<std::string>()(colliding_name(i)));
    keyed.insert(KeyedHash()(colliding_name(i)));
  }
  CHECK(standard.size() == 1);
  CHECK(keyed.size() == 1024);
}

TEST_CASE("a name has one hash, and names that differ in a byte or a length have another") {
  std::set<std::size_t> hashes;
  std::string name;
  for (int length = 0; length < 40; ++length, name += '\0') {
    CHECK(KeyedHash()(name) == KeyedHash()(std::string(name)));
    hashes.insert(KeyedHash()(name));
    if (!name.empty()) hashes.insert(KeyedHash()(name.substr(1) + "a"));
  }
  CHECK(hashes.size() == 40 + 39);
}
