#include "lib/base/crc32.hpp"

#include <catch2/catch.hpp>

using namespace tare;

TEST_CASE("CRC-32 is the zip one") {
  CHECK(crc32(as_bytes("123456789")) == 0xcbf43926);
}

TEST_CASE("the CRC after a change follows from the change and its place alone") {
  Bytes record(100'000);
  for (std::size_t i = 0; i < record.size(); ++i) record[i] = static_cast<std::byte>(i * 31 >> 3);
  for (const std::size_t place : {std::size_t{0}, std::size_t{1}, std::size_t{50'000}, record.size() - 8}) {
    Bytes changed = record;
    for (std::size_t i = 0; i < 8; ++i) changed[place + i] = std::byte{0xa5};
    const ByteView before = ByteView(record).subspan(place, 8);
    const ByteView after = ByteView(changed).subspan(place, 8);
    CHECK(crc32_patched(crc32(record), before, after, record.size() - place - 8) == crc32(changed));
  }
}
