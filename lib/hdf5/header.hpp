// HDF5: object headers, versions 1 and 2, with all their continuations (specification IV.A.1).
#pragma once

#include <vector>

#include "lib/hdf5/file.hpp"

namespace tare {

/// Types of the messages that are looked at.
enum class Hdf5MessageType : std::uint16_t {
  nothing = 0x00,  ///< room that was left, or became free
  dataspace = 0x01,
  link_info = 0x02,
  datatype = 0x03,
  link = 0x06,
  external_files = 0x07,
  layout = 0x08,
  filters = 0x0b,
  attribute = 0x0c,
  shared_messages = 0x0f,
  continuation = 0x10,
  symbol_table = 0x11,
  attribute_info = 0x15,
  last_known = 0x18,
};

/// A header, or one of its continuations. Blocks of version 2 end with a checksum.
struct Hdf5Block {
  std::uint64_t address = 0;
  Bytes bytes;
  bool has_checksum = false;
};

struct Hdf5Message {
  Hdf5MessageType type;
  bool is_shared = false;  ///< it only says where the message is
  std::size_t block = 0;   ///< number of the block that it stands in
  std::size_t begin = 0;   ///< of its data, in the block's bytes
  std::size_t size = 0;
};

struct Hdf5Header {
  std::vector<Hdf5Block> blocks;
  std::vector<Hdf5Message> messages;

  [[nodiscard]] ByteView data(const Hdf5Message& message) const {
    return ByteView(blocks[message.block].bytes).subspan(message.begin, message.size);
  }
  /// The first message of that type, or null.
  [[nodiscard]] const Hdf5Message* find(Hdf5MessageType type) const;
  /// Of a dataset, `what` in words. Throws Hdf5NotRead where it has none of its own.
  [[nodiscard]] const Hdf5Message& require(Hdf5MessageType type, std::string_view what) const;
};

/// Throws Hdf5NotRead for what is no header, `corrupt` where a checksum is wrong. A continuation that was there before
/// is left out, with a finding.
Hdf5Header read_hdf5_header(Hdf5File& file, std::uint64_t address);

}  // namespace tare
