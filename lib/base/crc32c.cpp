#include "lib/base/crc32c.hpp"

#include <array>
#include <bit>

namespace tare {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  constexpr std::uint32_t reversed_polynomial = 0x82f63b78;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? reversed_polynomial : 0);
    table[i] = value;
  }
  return table;
}

constexpr auto remainders = make_table();

}  // namespace

std::uint32_t crc32c(ByteView bytes) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const std::byte byte : bytes) crc = crc >> 8 ^ remainders[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
  return ~crc;
}

std::uint32_t masked_crc32c(ByteView bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8;
}

}  // namespace tare
