#include "lib/base/crc32.hpp"
#include "tests/catch.hpp"

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

TEST_CASE("the CRC of two runs, and of zeros, follows without the bytes") {
  const Bytes all(3000);
  for (const std::size_t size : {0u, 1u, 2u, 3u, 255u, 256u, 3000u})
    CHECK(crc32_of_zeros(size) == crc32(ByteView(all).first(size)));
  const Bytes text = {std::byte{'t'}, std::byte{'a'}, std::byte{'r'}, std::byte{'e'}};
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const ByteView first = ByteView(text).first(cut);
    const ByteView second = ByteView(text).subspan(cut);
    CHECK(crc32_joined(crc32(first), crc32(second), second.size()) == crc32(text));
  }
}
