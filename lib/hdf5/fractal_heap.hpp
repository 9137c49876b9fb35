// HDF5: the heap that a group's many links stand in (specification III.G).
#pragma once

#include <unordered_map>

#include "lib/hdf5/file.hpp"

namespace tare {

/// Its blocks stand in rows of as many; each row but the second has blocks of twice the size of those in the row
/// before. Up to a size they hold objects; larger ones are tables of blocks in their turn.
class Hdf5FractalHeap {
 public:
  /// Throws Hdf5NotRead for one with filters, or that makes no sense, `corrupt` where a checksum is wrong.
  Hdf5FractalHeap(Hdf5File& file, std::uint64_t address);

  /// Bytes of an id.
  [[nodiscard]] std::size_t id_size() const { return id_size_; }
  /// Throws Hdf5NotRead for an object that stands in no block.
  [[nodiscard]] Bytes object(ByteView id);

 private:
  [[nodiscard]] std::uint64_t block_size(std::uint64_t row) const {
    return row == 0 ? smallest_ : smallest_ << (row - 1);
  }
  [[nodiscard]] std::uint64_t row_start(std::uint64_t row) const {
    return row == 0 ? 0 : width_ * smallest_ << (row - 1);
  }
  [[nodiscard]] std::uint64_t rows_for(std::uint64_t size) const;
  void require_sense(std::uint64_t offset_bits) const;
  [[nodiscard]] const Bytes* find(std::uint64_t address, std::uint64_t size) const;
  const Bytes& table(std::uint64_t address, std::uint64_t rows);
  const Bytes& block(std::uint64_t address, std::uint64_t size);

  Hdf5File& file_;
  std::size_t id_size_ = 0;
  std::size_t offset_size_ = 0;
  std::size_t length_size_ = 0;
  bool has_checksums_ = false;  ///< blocks of objects have
  std::uint64_t width_ = 0;
  std::uint64_t smallest_ = 0;
  std::uint64_t largest_ = 0;  ///< of blocks of objects
  std::uint64_t root_ = 0;
  std::uint64_t rows_ = 0;                         ///< of the root; 0: it is the only block
  std::unordered_map<std::uint64_t, Bytes> seen_;  ///< blocks, by address
};

}  // namespace tare
