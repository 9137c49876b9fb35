// The parts of which a store makes a new version: what is sent, what is copied, and what they come to.
#include "lib/objects/new_version.hpp"

#include <numeric>
#include <utility>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"

namespace tare::test {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

Bytes counted(std::uint64_t size, unsigned seed) {
  Bytes bytes(size);
  std::uint32_t state = seed * 2'654'435'761u + 1;
  for (std::byte& byte : bytes) {
    state = state * 1'664'525u + 1'013'904'223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

FileRecord unchanged(std::uint64_t size) {
  FileRecord record;
  record.name = "model.pt";
  record.size_before = record.size_after = size;
  return record;
}

FileRecord with_swaps(std::uint64_t size, const std::vector<Span>& places) {
  FileRecord record = unchanged(size);
  for (const Span& place : places) {
    record.swaps.push_back({place.offset, counted(place.size, 1), counted(place.size, 2)});
  }
  return record;
}

std::uint64_t sent(const std::vector<ObjectPart>& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}, [](std::uint64_t sum, const ObjectPart& part) {
    return sum + (part.copied_from ? 0 : part.span.size);
  });
}

/// One behind the other from the first byte to the last, each as large as S3 wants it.
void require_takeable(const std::vector<ObjectPart>& parts, std::uint64_t size) {
  std::uint64_t at = 0;
  for (const ObjectPart& part : parts) {
    REQUIRE(part.span.offset == at);
    REQUIRE(part.span.size > 0);
    REQUIRE(part.span.size <= std::uint64_t{5} << 30);
    if (&part != &parts.back()) REQUIRE(part.span.size >= 5 * mib);
    at = part.span.end();
  }
  REQUIRE(at == size);
}

/// What a store would make of them.
Bytes composed(const FileRecord& record, const Bytes& old) {
  const NewVersion version(record);
  const NewBytes read_old = [&](Span span) {
    const ByteView there = ByteView(old).subspan(span.offset, span.size);
    return Bytes(there.begin(), there.end());
  };
  const auto parts = version.parts();
  require_takeable(parts, record.size_after);
  Bytes made;
  for (const ObjectPart& part : parts) {
    const Bytes bytes =
        part.copied_from ? read_old({*part.copied_from, part.span.size}) : version.read(part.span, read_old);
    REQUIRE(bytes.size() == part.span.size);
    made.insert(made.end(), bytes.begin(), bytes.end());
  }
  return made;
}

/// Compared without writing megabytes to the terminal where they differ.
void require_same(const Bytes& a, const Bytes& b) {
  REQUIRE(a.size() == b.size());
  const auto [differs, other] = std::mismatch(a.begin(), a.end(), b.begin());
  INFO("from byte " << differs - a.begin() << " on");
  REQUIRE(differs == a.end());
}

TEST_CASE("of an object of 4.4 GB less than 12 MB travel for a scale and its two checksums") {
  constexpr std::uint64_t size = 4'400'000'000;
  const auto parts = NewVersion(with_swaps(size, {{1'000'000, 8}, {1'000'100, 4}, {size - 20'000, 4}})).parts();
  require_takeable(parts, size);
  CHECK(sent(parts) < 12'000'000);
  for (const ObjectPart& part : parts) {
    if (part.copied_from) CHECK(*part.copied_from == part.span.offset);
  }
}

TEST_CASE("changes at both ends and in the middle are sent with no more around them than a part must have") {
  constexpr std::uint64_t size = 1'000 * mib;
  const auto parts = NewVersion(with_swaps(size, {{0, 8}, {500 * mib, 8}, {size - 8, 8}})).parts();
  require_takeable(parts, size);
  CHECK(sent(parts) == 5 * mib + 5 * mib + 8);
}

TEST_CASE("what is left between two changes is sent where it is too small to be a part") {
  const auto parts = NewVersion(with_swaps(100 * mib, {{20 * mib, 8}, {29 * mib, 8}})).parts();
  require_takeable(parts, 100 * mib);
  CHECK(sent(parts) == 9 * mib + 8);
}

TEST_CASE("changes beside each other, at a part's border and behind the last border make the bytes that are meant") {
  constexpr std::uint64_t size = 24 * mib + 17;
  const Bytes old = counted(size, 7);
  const std::vector<std::vector<Span>> cases = {
      {},
      {{0, 1}},
      {{size - 1, 1}},
      {{5 * mib - 1, 1}, {5 * mib, 1}},
      {{5 * mib, 3}, {10 * mib, 3}},
      {{9, 40}, {10 * mib + 3, 5}, {size - 6, 2}},
      {{1 * mib, 9 * mib}},
  };
  for (const auto& places : cases) {
    FileRecord record = unchanged(size);
    Bytes wanted = old;
    for (const Span& place : places) {
      const Bytes after = counted(place.size, 99);
      std::copy(after.begin(), after.end(), wanted.begin() + static_cast<std::ptrdiff_t>(place.offset));
      record.swaps.push_back({place.offset, Bytes(place.size), after});
    }
    INFO(places.size() << " changes");
    require_same(composed(record, old), wanted);
  }
}

TEST_CASE("what is copied is divided as soon as both parts of it are large enough, and no byte sooner") {
  const auto sizes = [](std::uint64_t copied) {
    std::vector<std::uint64_t> all;
    const FileRecord record = with_swaps(5 * mib + copied, {{0, 8}});
    for (const ObjectPart& part : NewVersion(record).parts()) all.push_back(part.span.size);
    return all;
  };
  using Sizes = std::vector<std::uint64_t>;
  CHECK(sizes(64 * mib) == Sizes{5 * mib, 64 * mib});
  CHECK(sizes(69 * mib - 1) == Sizes{5 * mib, 69 * mib - 1});
  CHECK(sizes(69 * mib) == Sizes{5 * mib, 64 * mib, 5 * mib});
  CHECK(sizes(69 * mib + 1) == Sizes{5 * mib, 64 * mib, 5 * mib + 1});
}

TEST_CASE("an end that grows is sent, and one that shrinks is not") {
  const Bytes old = counted(12 * mib, 3);
  FileRecord record = unchanged(old.size());
  record.tail = counted(100, 4);
  record.size_after += record.tail.size();
  Bytes wanted = old;
  wanted.insert(wanted.end(), record.tail.begin(), record.tail.end());
  require_same(composed(record, old), wanted);
  CHECK(sent(NewVersion(record).parts()) == 100);

  const FileRecord back = inverse(record);
  require_same(composed(back, wanted), old);
  CHECK(sent(NewVersion(back).parts()) == 0);
}

TEST_CASE("what moves is copied from where it was") {
  const Bytes old = counted(30 * mib, 5);
  FileRecord record = unchanged(old.size());
  record.write_method = WriteMethod::rewritten;
  constexpr std::uint64_t place = 12 * mib;
  record.swaps = {{place, Bytes(old.begin() + place, old.begin() + place + 10), counted(1'000, 6)}};
  record.size_after = record.size_before - 10 + 1'000;
  Bytes wanted(old.begin(), old.begin() + place);
  wanted.insert(wanted.end(), record.swaps[0].after.begin(), record.swaps[0].after.end());
  wanted.insert(wanted.end(), old.begin() + place + 10, old.end());
  require_same(composed(record, old), wanted);
  require_same(composed(inverse(record), wanted), old);
  const auto last = NewVersion(record).parts().back();
  REQUIRE(last.copied_from);
  CHECK(last.span.offset - *last.copied_from == 990);
}

TEST_CASE("more parts than a store takes are refused") {
  std::vector<Span> places;
  for (std::uint64_t i = 0; i < 6'000; ++i) places.push_back({i * 11 * mib, 1});
  const FileRecord record = with_swaps(6'000 * 11 * mib, places);
  try {
    (void)NewVersion(record).parts();
    FAIL("12,000 parts");
  } catch (const Error& error) {
    CHECK(error.status == Status::unsupported);
    CHECK_THAT(std::string(error.what()), Catch::Contains("10000"));
  }
}

}  // namespace
}  // namespace tare::test
