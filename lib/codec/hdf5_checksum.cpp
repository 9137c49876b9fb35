#include "lib/codec/hdf5_checksum.hpp"

#include <algorithm>

#include "lib/base/attribute_checksum.hpp"
#include "lib/base/error.hpp"
#include "lib/codec/hdf5.hpp"
#include "lib/codec/hdf5_table.h"
#include "lib/codec/schema.hpp"

namespace tare {
namespace {

constexpr std::string_view signature{"\x89HDF\r\n\x1a\n", 8};
static_assert(blank_attribute_checksum == std::string_view(TARE_HDF5_BLANK_CHECKSUM));

std::string_view head_of(ByteView bytes) {
  return as_text(bytes.first(std::min(bytes.size(), attribute_checksum_head_bytes)));
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
  const auto at = find_attribute_checksum(bytes);
  if (!at) throw Error(Status::internal, "the HDF5 module left no place for the checksum");
  const std::string checksum = attribute_checksum(bytes, *at);
  std::ranges::copy(as_bytes(checksum), bytes.begin() + static_cast<std::ptrdiff_t>(*at));
}

void require_hdf5_checksum(ByteView bytes, const std::string& name) {
  const std::string_view head = head_of(bytes);
  if (!is_hdf5(bytes)) throw Error(Status::corrupt, name + ": not an HDF5 file");
  const auto at = find_attribute_checksum(bytes);
  if (!at) throw_without_checksum(head, name);
  if (attribute_checksum(bytes, *at) == head.substr(*at, attribute_checksum_digits)) return;
  throw Error(Status::corrupt,
              name + ": the checksum is not that of the file: it was cut off, damaged or changed by another program",
              "To change a state outside of tare, write it as JSON.");
}

}  // namespace tare
