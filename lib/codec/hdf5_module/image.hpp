// A state file's bytes, and fields in them: nothing is ever read past an end, and no file keeps its reader busy longer
// than its size explains.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/bytes.hpp"

namespace tare::hdf5 {

inline constexpr std::uint64_t no_address = ~std::uint64_t{0};

/// Throws `corrupt` for what stands at `place`.
[[noreturn]] void refuse(const std::string& place, const std::string& what);

/// Little-endian fields, one after the other.
class Fields {
 public:
  Fields(ByteView bytes, std::string place) : rest_(bytes), place_(std::move(place)) {}

  std::uint64_t number(std::size_t size);
  std::uint64_t address() { return number(8); }
  ByteView take(std::uint64_t size);
  void skip(std::uint64_t size) { take(size); }
  /// Throws unless the next field is this number: what tare always writes there.
  void require(std::size_t size, std::uint64_t wanted, const char* what);
  void require(std::string_view signature);
  [[nodiscard]] std::size_t left() const { return rest_.size(); }

 private:
  ByteView rest_;
  std::string place_;
};

class Image {
 public:
  explicit Image(ByteView bytes) : bytes_(bytes), metadata_left_(bytes.size() + spare), values_left_(bytes.size()) {}

  [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }
  /// Blocks that are looked at several times count every time.
  Fields metadata(std::uint64_t address, std::uint64_t size, const std::string& place);
  ByteView metadata_bytes(std::uint64_t address, std::uint64_t size, const std::string& place);
  /// Stored values: all together cannot be more than the file.
  ByteView values(std::uint64_t address, std::uint64_t size, const std::string& place);

 private:
  static constexpr std::uint64_t spare = std::uint64_t{1} << 20;

  ByteView bytes_;
  std::uint64_t metadata_left_;
  std::uint64_t values_left_;
};

}  // namespace tare::hdf5
