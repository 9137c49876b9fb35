// A storage in a stream of its own, with other elements: as if it had been written with them.
#include "lib/container/pickle/write/new_stream.hpp"

#include "lib/base/error.hpp"
#include "lib/container/pickle/read/storage_stream.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;

namespace {

Bytes elements(std::size_t count, std::size_t size, std::uint8_t begin) {
  Bytes bytes(count * size);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(begin + i);
  return bytes;
}

}  // namespace

TEST_CASE("a stream that gets other elements is the one that is written with them, however many there were") {
  for (const auto& [storage, size] : {std::pair<const char*, std::size_t>{"FloatStorage", 4},
                                      {"DoubleStorage", 8},
                                      {"ByteStorage", 1},
                                      {"LongStorage", 8}}) {
    for (const std::size_t before : {0U, 1U, 2U, 300U}) {
      for (const std::size_t after : {0U, 1U, 255U, 256U, 65'536U}) {
        INFO(storage << ", " << before << " become " << after);
        const Bytes old = new_stream(storage, elements(before, size, 1));
        const Bytes anew = elements(after, size, 9);
        CHECK(stream_with_elements(old, static_cast<std::int64_t>(after), anew) == new_stream(storage, anew));
        const auto usual = read_usual_stream(old);
        REQUIRE(usual);
        CHECK(usual->storage.data.size == before * size);
        CHECK(usual->storage.data.end() == old.size());
      }
    }
  }
}

TEST_CASE("a stream that is written in another way keeps its size") {
  Bytes other = new_stream("FloatStorage", elements(2, 4, 1));
  other[0] ^= std::byte{1};
  CHECK_THROWS_WITH(stream_with_elements(other, 1, elements(1, 4, 1)),
                    "a tensor that is not written as torch does keeps its size");
  CHECK_THROWS_AS(stream_with_elements({}, 1, elements(1, 4, 1)), Error);
}
