// Bytes and their order.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace tare {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

/// A run of bytes inside a file or a record.
struct Span {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;

  [[nodiscard]] std::uint64_t end() const { return offset + size; }
  friend bool operator==(const Span&, const Span&) = default;
};

template <typename T>
concept Plain = std::integral<T> || std::floating_point<T>;

template <std::size_t Size>
using UnsignedOfSize = std::conditional_t<
    Size == 1, std::uint8_t,
    std::conditional_t<Size == 2, std::uint16_t, std::conditional_t<Size == 4, std::uint32_t, std::uint64_t>>>;

template <std::unsigned_integral T>
constexpr T swap_bytes(T value) {
  T swapped = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    swapped = static_cast<T>((swapped << (sizeof(T) == 1 ? 0 : 8)) | (value & 0xff));
    value = static_cast<T>(value >> (sizeof(T) == 1 ? 0 : 8));
  }
  return swapped;
}

/// REQUIRES: sizeof(T) bytes at `from`, of any alignment.
template <Plain T>
T load(const std::byte* from, std::endian order) {
  UnsignedOfSize<sizeof(T)> bits;
  std::memcpy(&bits, from, sizeof bits);
  if (order != std::endian::native) bits = swap_bytes(bits);
  return std::bit_cast<T>(bits);
}

template <Plain T>
void store(std::byte* to, T value, std::endian order) {
  auto bits = std::bit_cast<UnsignedOfSize<sizeof(T)>>(value);
  if (order != std::endian::native) bits = swap_bytes(bits);
  std::memcpy(to, &bits, sizeof bits);
}

template <Plain T>
T load_le(const std::byte* from) {
  return load<T>(from, std::endian::little);
}

template <Plain T>
void append_le(Bytes& to, T value) {
  to.resize(to.size() + sizeof(T));
  store(to.data() + to.size() - sizeof(T), value, std::endian::little);
}

/// How many bytes the two have in common from the start on: whole blocks first, of which most of them consist.
inline std::size_t common_start(ByteView a, ByteView b) {
  constexpr std::size_t block = 256;
  const std::size_t most = a.size() < b.size() ? a.size() : b.size();
  std::size_t same = 0;
  while (same + block <= most && std::memcmp(a.data() + same, b.data() + same, block) == 0) same += block;
  while (same < most && a[same] == b[same]) ++same;
  return same;
}

inline ByteView as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string_view as_text(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace tare
