// Format specification: "HDF5 File Format Specification Version 3.0", III.A superblock, IV.A.1.b version 2 object
// headers, IV.A.2.g link messages. Version 1 headers and symbol tables have no checksums and are not walked.
#include "lib/container/hdf5.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "lib/base/error.hpp"
#include "lib/container/hdf5_checksum.hpp"
#include "lib/container/recognised.hpp"

namespace tare {
namespace {

constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
constexpr std::uint64_t no_address = ~std::uint64_t{0};
constexpr std::size_t checksum_size = 4;
constexpr std::size_t max_headers = 4096;                     ///< looked at; the rest is not checked
constexpr std::uint64_t max_block = std::uint64_t{16} << 20;  ///< of one header

class Hdf5Check {
 public:
  explicit Hdf5Check(const Source& source) : source_(source) {}

  void run() {
    const std::uint64_t root = read_superblock();
    if (root == no_address) return;
    pending_.push_back({root});
    while (!pending_.empty() && seen_.size() < max_headers) {
      const Block block = pending_.back();
      pending_.pop_back();
      if (!seen_.insert(block.address).second) continue;
      block.size == 0 ? check_header(block.address) : check_continuation(block);
    }
  }

 private:
  /// A header, or one of its continuations.
  struct Block {
    std::uint64_t address;
    std::uint64_t size = 0;  ///< 0: a header, which tells its own
    unsigned flags = 0;      ///< of the header that a continuation belongs to
  };

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(Status::corrupt, fmt::format("{}: HDF5: {}", source_.name(), problem),
                "the file is cut short or damaged; take another copy");
  }

  [[nodiscard]] Bytes read(std::uint64_t offset, std::uint64_t size) const {
    if (size > max_block) fail(fmt::format("a header of {} bytes at offset {}", size, offset));
    return source_.read({offset, size});
  }

  void require_checksum(const Bytes& block, std::uint64_t offset, std::string_view what) const {
    const ByteView covered = ByteView(block).first(block.size() - checksum_size);
    const auto stored = load_le<std::uint32_t>(block.data() + covered.size());
    if (hdf5_checksum(covered) != stored)
      fail(fmt::format("the checksum of the {} at offset {} is wrong", what, offset));
  }

  /// Returns the address of the root group's header; none where headers have no checksums.
  std::uint64_t read_superblock() const {
    constexpr std::uint64_t new_size = 48;
    constexpr std::uint64_t old_size = 96;
    const auto version = std::to_integer<std::uint8_t>(read(signature.size(), 1)[0]);
    if (version > 3) fail(fmt::format("superblock version {}", version));
    const bool is_old = version < 2;
    const Bytes block = read(0, is_old ? old_size : new_size);
    const std::size_t offset_size = is_old ? 13 : 9;
    if (block[offset_size] != std::byte{8}) return no_address;
    const std::size_t base = is_old ? (version == 0 ? 24 : 28) : 12;
    const std::size_t end = base + 16;
    require_end(load_le<std::uint64_t>(block.data() + base), load_le<std::uint64_t>(block.data() + end));
    if (is_old) return no_address;
    require_checksum(block, 0, "superblock");
    return load_le<std::uint64_t>(block.data() + 36);
  }

  void require_end(std::uint64_t base, std::uint64_t end) const {
    if (base > source_.size() || end > source_.size() - base) {
      fail(fmt::format("the superblock says {} bytes, the file has {}", end, source_.size()));
    }
  }

  void check_header(std::uint64_t address) {
    const Bytes start = read(address, 6);
    if (as_text(start).substr(0, 4) != "OHDR") return;
    const auto flags = std::to_integer<unsigned>(start[5]);
    const std::uint64_t length_at = address + 6 + ((flags & 0x20) != 0 ? 16 : 0) + ((flags & 0x10) != 0 ? 4 : 0);
    const std::size_t length_size = std::size_t{1} << (flags & 3);
    Bytes length = read(length_at, length_size);
    length.resize(8);
    const auto messages = load_le<std::uint64_t>(length.data());
    const std::uint64_t prefix = length_at + length_size - address;
    const Bytes block = read(address, prefix + std::min(messages, max_block) + checksum_size);
    require_checksum(block, address, "object header");
    read_messages(ByteView(block).subspan(prefix, messages), flags);
  }

  void read_messages(ByteView messages, unsigned flags) {
    constexpr unsigned link = 6;
    constexpr unsigned continuation = 16;
    const std::size_t head = (flags & 4) != 0 ? 6 : 4;
    while (messages.size() >= head) {
      const auto type = std::to_integer<unsigned>(messages[0]);
      const std::size_t size = load_le<std::uint16_t>(messages.data() + 1);
      messages = messages.subspan(head);
      if (size > messages.size()) return;
      if (type == link) read_link(messages.first(size));
      if (type == continuation && size >= 16) {
        const auto length = load_le<std::uint64_t>(messages.data() + 8);
        pending_.push_back({load_le<std::uint64_t>(messages.data()), length, flags});
      }
      messages = messages.subspan(size);
    }
  }

  void check_continuation(const Block& block) {
    constexpr std::size_t signature_size = 4;
    if (block.size < signature_size + checksum_size) return;
    const Bytes bytes = read(block.address, block.size);
    if (as_text(bytes).substr(0, signature_size) != "OCHK") {
      fail(fmt::format("no continuation of a header at offset {}", block.address));
    }
    require_checksum(bytes, block.address, "object header's continuation");
    read_messages(ByteView(bytes).subspan(signature_size, bytes.size() - signature_size - checksum_size), block.flags);
  }

  void read_link(ByteView message) {
    if (message.size() < 2) return;
    const auto flags = std::to_integer<unsigned>(message[1]);
    std::size_t at = 2;
    const bool is_hard = (flags & 8) == 0 || (at < message.size() && message[at] == std::byte{0});
    at += (flags & 8) != 0 ? 1 : 0;
    at += (flags & 4) != 0 ? 8 : 0;
    at += (flags & 16) != 0 ? 1 : 0;
    const std::size_t length_size = std::size_t{1} << (flags & 3);
    if (!is_hard || message.size() < at + length_size) return;
    std::uint64_t length = 0;
    for (std::size_t i = length_size; i-- > 0;) length = length << 8 | std::to_integer<std::uint64_t>(message[at + i]);
    at += length_size;
    if (length > message.size() - at || message.size() - at - length < 8) return;
    pending_.push_back({load_le<std::uint64_t>(message.data() + at + length)});
  }

  const Source& source_;
  std::vector<Block> pending_;
  std::unordered_set<std::uint64_t> seen_;
};

}  // namespace

bool starts_like_hdf5(ByteView head) {
  return as_text(head).starts_with(signature);
}

std::unique_ptr<Container> open_hdf5(const std::shared_ptr<const Source>& source) {
  Hdf5Check(*source).run();
  return recognised("hdf5", "HDF5");
}

}  // namespace tare
