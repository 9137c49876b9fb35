// A vector that grows without a second copy of its elements.
#include "lib/base/realloc_vector.hpp"
#include "tests/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

using tare::ReallocVector;

TEST_CASE("elements stay as they are while a vector grows, and when it is handed on") {
  ReallocVector<std::uint32_t> grown;
  CHECK(grown.begin() == grown.end());
  for (std::uint32_t i = 0; i < 3'000'000; ++i) grown.push_back(i);
  grown.push_back(grown[7]);
  REQUIRE(grown.size() == 3'000'001);
  std::vector<std::uint32_t> wanted(3'000'000);
  std::iota(wanted.begin(), wanted.end(), 0U);
  wanted.push_back(7);
  CHECK(std::equal(grown.begin(), grown.end(), wanted.begin(), wanted.end()));

  ReallocVector<std::uint32_t> other(5);
  other = std::move(grown);
  const ReallocVector<std::uint32_t> moved = std::move(other);
  CHECK(std::equal(moved.begin(), moved.end(), wanted.begin(), wanted.end()));
}

TEST_CASE("room for more than there can be is refused, and what was there stays") {
  ReallocVector<std::uint64_t> some;
  some.push_back(5);
  CHECK_THROWS_AS(some.reserve(std::numeric_limits<std::size_t>::max() / 4), std::bad_alloc);
  CHECK_THROWS_AS(some.reserve(std::numeric_limits<std::size_t>::max() / 32), std::bad_alloc);
  CHECK(some.size() == 1);
  CHECK(some[0] == 5);
}
