#include "lib/base/summed_source.hpp"

#include <algorithm>
#include <random>

#include "lib/base/crc32.hpp"
#include "tests/catch.hpp"

using namespace tare;

TEST_CASE("the CRC of any run is that of its bytes, whatever was read of the source before") {
  std::mt19937 random(7);
  Bytes bytes(3'000'000);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  const auto whole = std::make_shared<MemorySource>("x", bytes);
  const auto any_run = [&] {
    const std::uint64_t offset = random() % bytes.size();
    return Span{offset, random() % (bytes.size() - offset)};
  };
  for (int round = 0; round < 40; ++round) {
    const SummedSource summed(whole);
    for (int reads = round % 8; reads > 0; --reads) {
      const Span run = any_run();
      const Bytes read = summed.read(run);
      REQUIRE(std::ranges::equal(read, ByteView(bytes).subspan(run.offset, run.size)));
    }
    const Span run = any_run();
    REQUIRE(summed.crc32_of(run) == crc32(ByteView(bytes).subspan(run.offset, run.size)));
    REQUIRE(summed.crc32_of({0, bytes.size()}) == crc32(bytes));
  }
}
