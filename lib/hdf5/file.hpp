// An HDF5 file as its metadata is read: small pieces by address, through a few cached pages, so that what lies between
// them (raw data) is hopped over.
//
// Format: "HDF5 File Format Specification Version 3.0"; the sections are named where they are read.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/finding.hpp"
#include "lib/base/source.hpp"

namespace tare {

/// Thrown where one object cannot be read, and others can: what it is, or what is wrong with it.
struct Hdf5NotRead {
  std::string why;
};

inline constexpr std::uint64_t hdf5_no_address = ~std::uint64_t{0};
inline constexpr std::uint64_t hdf5_address_size = 8;   ///< the superblock is held to it
inline constexpr std::uint64_t hdf5_checksum_size = 4;  ///< of a block of metadata, at its end

/// How many bytes hold a number up to this one.
constexpr std::uint64_t hdf5_bytes_for(std::uint64_t number) {
  return (static_cast<std::uint64_t>(std::bit_width(number)) + 7) / 8;
}

/// The fields of one block, in their order. Numbers are little-endian. Whoever reads beyond the end throws Hdf5NotRead.
class Hdf5Fields {
 public:
  /// `what` names the block in messages; static.
  Hdf5Fields(ByteView bytes, std::string_view what) : bytes_(bytes), what_(what) {}

  /// An unsigned number of 1 to 8 bytes.
  std::uint64_t number(std::size_t size);
  std::uint64_t address() { return number(8); }
  std::uint64_t length() { return number(8); }
  ByteView take(std::uint64_t size);
  void skip(std::uint64_t size) { take(size); }
  void require_signature(std::string_view signature);
  [[nodiscard]] ByteView rest() const { return bytes_; }

 private:
  ByteView bytes_;
  std::string_view what_;
};

class Hdf5File {
 public:
  explicit Hdf5File(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  [[nodiscard]] const Source& source() const { return *source_; }
  [[nodiscard]] const std::shared_ptr<const Source>& shared_source() const { return source_; }
  /// Where address 0 is in the file: the superblock says so.
  void set_base(std::uint64_t base) { base_ = base; }
  [[nodiscard]] std::uint64_t offset(std::uint64_t address) const { return base_ + address; }
  /// How many bytes there are from an address on.
  [[nodiscard]] std::uint64_t left(std::uint64_t address) const {
    const std::uint64_t all = source_->size();
    return address > all || base_ > all - address ? 0 : all - address - base_;
  }
  /// A block of metadata. Throws `corrupt` where it passes the end of the file or is larger than any real one.
  /// All reads together are limited, too: a small file can refer to one block many times.
  [[nodiscard]] Bytes read(std::uint64_t address, std::uint64_t size);
  /// The same, of bytes of which some may mean nothing: those that do are for the caller to note.
  [[nodiscard]] Bytes look(std::uint64_t address, std::uint64_t size);
  /// Bytes of values, which may be many. Throws Hdf5NotRead where they pass the end of the file, `corrupt` where all
  /// values together are more than the file: then they stand where others do.
  [[nodiscard]] Bytes read_values(std::uint64_t address, std::uint64_t size);
  void read_values(std::uint64_t address, std::span<std::byte> to);
  /// Bytes that mean something: what of them lies in the file.
  void note(std::uint64_t address, std::uint64_t size);

  /// Everything that was read or noted, in the file: metadata that no value may stand in.
  [[nodiscard]] const std::vector<Span>& read_so_far() const { return blocks_; }

  /// Throws `corrupt`: the whole file is not to be trusted.
  [[noreturn]] void fail(const std::string& problem) const;
  /// The last four bytes of a block are its checksum. Throws `corrupt` where it is wrong.
  void require_checksum(ByteView block, std::uint64_t address, std::string_view what) const;
  [[noreturn]] void fail_checksum(std::string_view what, std::uint64_t address) const;

  /// What is wrong and does not keep the rest from being read; after a few no more are told. `path` may be empty.
  void warn(std::string_view code, std::string message, std::string path = {});
  [[nodiscard]] std::vector<Finding> findings() const;

 private:
  static constexpr std::uint64_t page_size = 4096;
  static constexpr std::size_t page_slots = 64;
  struct Page {
    std::uint64_t number = hdf5_no_address;
    Bytes bytes;
  };
  const Bytes& page(std::uint64_t number);
  void count(std::uint64_t size);
  void require_values(std::uint64_t address, std::uint64_t size);

  std::shared_ptr<const Source> source_;
  std::uint64_t base_ = 0;
  std::uint64_t taken_ = 0;  ///< bytes read so far
  std::vector<Span> blocks_;
  std::array<Page, page_slots> pages_;
  std::vector<Finding> findings_;
  std::size_t untold_ = 0;
};

}  // namespace tare
