// Lengths of frames that follow what is in them, and frames that begin anew behind what is taken away with their
// opcode.
#include "lib/container/pickle/write/frame.hpp"

#include <algorithm>

#include "tests/catch.hpp"

using namespace tare;

namespace {

constexpr std::uint64_t opcode = 100;         // of the frame
constexpr std::uint64_t inside = opcode + 9;  // where what it holds begins
constexpr std::uint64_t size = 50;

struct Mended {
  std::uint64_t length = size;  ///< that is written over the frame's own
  bool is_begun = false;        ///< a frame of that length begins behind the replacement instead
};

/// What becomes of the frame where a run of bytes becomes one of `after` bytes.
Mended mended(Span place, std::size_t after) {
  const std::vector<Span> frames = {{inside, size}};
  std::vector<Replacement> replacements = {{place, Bytes(after)}};
  mend_frames(frames, replacements);
  Mended made;
  for (const Replacement& one : replacements) {
    if (one.place.offset == inside - 8 && one.place.size == 8 && one.after.size() == 8) {
      made.length = load_le<std::uint64_t>(one.after.data());
    } else if (one.after.size() == after + 9) {
      CHECK(one.after[after] == std::byte{0x95});
      made = {load_le<std::uint64_t>(one.after.data() + after + 1), true};
    } else {
      CHECK(one.after.size() == after);
    }
  }
  return made;
}

}  // namespace

TEST_CASE("a frame is as long as what is in it, from its first byte to what is added at its end") {
  struct Case {
    Span place;
    std::size_t after;
    std::uint64_t length;
  };
  const Case cases[] = {{{inside, 5}, 9, size + 4},      {{inside, 0}, 3, size + 3},  {{inside + 49, 1}, 0, size - 1},
                        {{inside + 50, 0}, 7, size + 7}, {{inside + 50, 4}, 7, size}, {{inside + 10, 40}, 0, 10},
                        {{inside + 48, 6}, 6, size + 4}, {{inside + 20, 5}, 5, size}, {{opcode - 5, 5}, 20, size},
                        {{opcode, 0}, 20, size}};
  for (const auto& [place, after, length] : cases) {
    INFO(place.size << " bytes at " << place.offset << " become " << after);
    const Mended made = mended(place, after);
    CHECK(made.length == length);
    CHECK_FALSE(made.is_begun);
  }
}

TEST_CASE("a frame whose opcode goes begins anew behind what went, unless all of it went") {
  for (const std::uint64_t begin : {opcode - 3, opcode}) {
    for (const std::uint64_t end : {inside, inside + 1, inside + 49}) {
      INFO(begin << " to " << end);
      const Mended made = mended({begin, end - begin}, 4);
      CHECK(made.is_begun);
      CHECK(made.length == inside + size - end);
    }
    for (const std::uint64_t end : {inside + 50, inside + 60}) CHECK_FALSE(mended({begin, end - begin}, 4).is_begun);
  }
}
