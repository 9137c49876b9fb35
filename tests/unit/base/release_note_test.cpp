// The note of a release, in a file that has one (this test) and in what is left of it.
#include <string>

#include "lib/base/release_note.hpp"
#include "tests/catch.hpp"

namespace tare {
namespace {

const char* const self = "/proc/self/exe";

Bytes start_of_this_test(std::uint64_t size) {
  return FileSource(self).read({0, size});
}

std::string noted_in(Bytes bytes) {
  return release_noted_in(MemorySource("test", std::move(bytes)));
}

}  // namespace

TEST_CASE("a file says its release before anything in it runs") {
  CHECK(release_noted_in(FileSource(self)) == TARE_RELEASE);
  CHECK(release_noted_in(FileSource("/bin/sh")).empty());
}

TEST_CASE("a file that ends early, or is none of this machine, has no release") {
  const Bytes whole = start_of_this_test(1 << 14);
  REQUIRE(noted_in(whole) == TARE_RELEASE);
  std::size_t first_with = 0;
  for (std::size_t size = 0; size <= 4096; ++size) {
    const std::string noted = noted_in({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    if (!noted.empty() && first_with == 0) first_with = size;
    CHECK(noted == (first_with == 0 ? "" : TARE_RELEASE));
  }
  CHECK(first_with > 64);
  for (std::size_t identity = 0; identity < 6; ++identity) {  // the magic number, the word, the order
    Bytes other = whole;
    other[identity] ^= std::byte{3};
    CHECK(noted_in(other).empty());
  }
}

TEST_CASE("any damage to the headers leaves a text or nothing") {
  const Bytes whole = start_of_this_test(4096);
  for (std::size_t i = 0; i < 1024; ++i) {
    for (const std::byte value : {std::byte{0}, std::byte{0x7f}, std::byte{0xff}}) {
      Bytes damaged = whole;
      damaged[i] = value;
      CHECK(noted_in(damaged).size() < 4096);
    }
  }
}

}  // namespace tare
