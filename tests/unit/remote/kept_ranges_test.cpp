#include "lib/remote/kept_ranges.hpp"

#include <algorithm>
#include <random>

#include "tests/catch.hpp"

using namespace tare;

namespace {

/// Bytes that tell where they stand.
Bytes bytes_at(std::uint64_t offset, std::uint64_t size) {
  Bytes bytes(size);
  for (std::uint64_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((offset + i) * 7);
  return bytes;
}

}  // namespace

TEST_CASE("of a range what is known at its begin and at its end is not missing") {
  KeptRanges kept;
  CHECK(kept.missing({100, 50}) == Span{100, 50});
  kept.keep(0, bytes_at(0, 110), Keep::always);
  kept.keep(140, bytes_at(140, 5), Keep::for_now);
  kept.keep(145, bytes_at(145, 20), Keep::for_now);
  CHECK(kept.missing({100, 50}) == Span{110, 30});
  CHECK(kept.missing({0, 110}).size == 0);
  CHECK(kept.missing({142, 20}).size == 0);
  CHECK(kept.missing({50, 200}) == Span{110, 140});
  CHECK(kept.passing_bytes() == 25);
}

TEST_CASE("what stays for now is dropped, and what stays always is not") {
  KeptRanges kept;
  kept.keep(10, bytes_at(10, 10), Keep::always);
  kept.keep(0, bytes_at(0, 30), Keep::for_now);
  CHECK(kept.passing_bytes() == 20);
  CHECK(kept.missing({0, 30}).size == 0);
  kept.drop_passing();
  CHECK(kept.passing_bytes() == 0);
  CHECK(kept.missing({10, 10}).size == 0);
  CHECK(kept.missing({0, 30}) == Span{0, 30});
}

TEST_CASE("a gap ends where something is known") {
  KeptRanges kept;
  CHECK(kept.gap_around({10, 5}, 100) == Span{0, 100});
  kept.keep(0, bytes_at(0, 8), Keep::always);
  kept.keep(30, bytes_at(30, 5), Keep::for_now);
  kept.keep(60, bytes_at(60, 10), Keep::for_now);
  CHECK(kept.gap_around({10, 5}, 100) == Span{8, 22});
  CHECK(kept.gap_around({25, 20}, 100) == Span{8, 52});
  CHECK(kept.gap_around({35, 1}, 100) == Span{35, 25});
  CHECK(kept.gap_around({80, 20}, 100) == Span{70, 30});
}

TEST_CASE("near is what is known up to so many bytes before a range or behind it") {
  KeptRanges kept;
  kept.keep(100, bytes_at(100, 10), Keep::always);
  CHECK(kept.is_near({110, 1}, 0));
  CHECK(kept.is_near({130, 1}, 20));
  CHECK_FALSE(kept.is_near({130, 1}, 19));
  CHECK(kept.is_near({80, 10}, 10));
  CHECK_FALSE(kept.is_near({80, 10}, 9));
}

TEST_CASE("whatever was kept in whatever order is given back as it stands there") {
  std::minstd_rand random(3);
  const auto pick = [&](std::uint64_t most) { return std::uniform_int_distribution<std::uint64_t>(0, most)(random); };
  constexpr std::uint64_t size = 400;
  for (int round = 0; round < 200; ++round) {
    KeptRanges kept;
    std::vector<bool> known(size);
    for (int step = 0; step < 12; ++step) {
      const std::uint64_t offset = pick(size), length = pick(std::min<std::uint64_t>(size - offset, 60));
      kept.keep(offset, bytes_at(offset, length), step % 2 == 0 ? Keep::always : Keep::for_now);
      std::fill_n(known.begin() + static_cast<std::ptrdiff_t>(offset), length, true);
      const std::uint64_t from = pick(size), wanted = pick(size - from);
      const auto at = [&](std::uint64_t place) { return known.begin() + static_cast<std::ptrdiff_t>(place); };
      const std::uint64_t begin =
          from + static_cast<std::uint64_t>(std::find(at(from), at(from + wanted), false) - at(from));
      const Span missing = kept.missing({from, wanted});
      REQUIRE(missing.offset == begin);
      REQUIRE(std::all_of(at(missing.end()), at(from + wanted), [](bool is) { return is; }));
      REQUIRE((missing.size == 0 || !known[missing.end() - 1]));
      Bytes to(wanted);
      kept.copy_known(from, to);
      const Bytes wanted_bytes = bytes_at(from, wanted);
      const auto edge = static_cast<std::ptrdiff_t>(missing.offset - from);
      REQUIRE(std::equal(to.begin(), to.begin() + edge, wanted_bytes.begin()));
      const auto rest = static_cast<std::ptrdiff_t>(missing.end() - from);
      REQUIRE(std::equal(to.begin() + rest, to.end(), wanted_bytes.begin() + rest));
    }
  }
}
