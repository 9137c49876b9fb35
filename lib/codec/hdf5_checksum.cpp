#include "lib/codec/hdf5_checksum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lib/base/crc32.hpp"
#include "lib/base/error.hpp"
#include "lib/codec/hdf5.hpp"
#include "lib/codec/hdf5_table.h"
#include "lib/codec/schema.hpp"

namespace tare {
namespace {

constexpr std::string_view signature{"\x89HDF\r\n\x1a\n", 8};
constexpr std::size_t head_bytes = 65536;  // where our root's attributes are
constexpr std::string_view blank = TARE_HDF5_BLANK_CHECKSUM;
constexpr std::string_view mark = blank.substr(0, blank.find(':') + 1);
constexpr std::size_t digits = blank.size() - mark.size();
/// What stands before the mark: the attribute's name and type (14 bytes of text) and shape. No text can hold its NULs.
constexpr std::string_view attribute{"checksum\0\0\0\0\0\0\0\0\x13\x11\0\0\x0e\0\0\0\x01\0\0\0\0\0\0\0", 32};

std::string_view head_of(ByteView bytes) {
  return as_text(bytes.first(std::min(bytes.size(), head_bytes)));
}

/// Of the file with the digits at `at` blank.
std::string checksum_of(ByteView bytes, std::size_t at) {
  Bytes copy(bytes.begin(), bytes.end());
  std::ranges::copy(as_bytes(blank.substr(mark.size())), copy.begin() + static_cast<std::ptrdiff_t>(at));
  return fmt::format("{:08x}", crc32(copy));
}

/// Where the digits are.
std::optional<std::size_t> find_checksum(std::string_view head) {
  for (std::size_t at = head.find(attribute); at != std::string_view::npos; at = head.find(attribute, at + 1)) {
    const std::size_t begin = at + attribute.size();
    if (head.substr(begin).starts_with(mark) && head.size() - begin >= blank.size()) return begin + mark.size();
  }
  return std::nullopt;
}

[[noreturn]] void throw_without_checksum(std::string_view head, const std::string& name) {
  if (head.find(state_schema.substr(0, state_schema.find('/') + 1)) == std::string_view::npos) {
    throw Error(Status::corrupt, name + ": an HDF5 file, but none with a scaler's state",
                "For a checkpoint, use tare_checkpoint_state.");
  }
  throw Error(Status::corrupt, name + ": no checksum: it was not written by tare, or changed since",
              "To change a state outside of tare, write it as JSON.");
}

}  // namespace

bool is_hdf5(ByteView bytes) {
  return head_of(bytes).starts_with(signature);
}

void put_hdf5_checksum(Bytes& bytes) {
  const auto at = find_checksum(head_of(bytes));
  if (!at) throw Error(Status::internal, "the HDF5 module left no place for the checksum");
  const std::string checksum = checksum_of(bytes, *at);
  std::ranges::copy(as_bytes(checksum), bytes.begin() + static_cast<std::ptrdiff_t>(*at));
}

void require_hdf5_checksum(ByteView bytes, const std::string& name) {
  const std::string_view head = head_of(bytes);
  if (!is_hdf5(bytes)) throw Error(Status::corrupt, name + ": not an HDF5 file");
  const auto at = find_checksum(head);
  if (!at) throw_without_checksum(head, name);
  if (checksum_of(bytes, *at) == head.substr(*at, digits)) return;
  throw Error(Status::corrupt,
              name + ": the checksum is not that of the file: it was cut off, damaged or changed by another program",
              "To change a state outside of tare, write it as JSON.");
}

}  // namespace tare
