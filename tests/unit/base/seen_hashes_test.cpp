#include <random>
#include <unordered_set>

#include "lib/base/seen_hashes.hpp"
#include "tests/catch.hpp"

using namespace tare;

TEST_CASE("a set of hashes says of each whether it saw it before, as it grows") {
  std::mt19937_64 random(7);
  SeenHashes seen;
  std::unordered_set<std::size_t> peer;
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t hash = random() % 12'000 << (i % 3 * 16);  // many share their low bits
    REQUIRE(seen.insert(hash) == peer.insert(hash).second);
  }
}

TEST_CASE("the hash 0 is one like any other") {
  SeenHashes seen;
  CHECK(seen.insert(0));
  CHECK_FALSE(seen.insert(0));
}
