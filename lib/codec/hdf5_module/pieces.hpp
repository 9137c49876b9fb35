// An HDF5 file without an image of it: what libhdf5 writes through a driver of our own. Values stay where they lie, all
// else is kept in pages.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "lib/codec/hdf5_module/handle.hpp"
#include "lib/codec/hdf5_table.h"

namespace tare::hdf5 {

class Pieces {
 public:
  /// While this lives, what is written out of `values` is not copied: they stay there until the file has been taken.
  class Lent {
   public:
    Lent(Pieces& pieces, std::span<const std::byte> values) : pieces_(pieces) { pieces_.lent_ = values; }
    ~Lent() { pieces_.lent_ = {}; }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;

   private:
    Pieces& pieces_;
  };

  void write(std::uint64_t at, std::span<const std::byte> bytes);
  void read(std::uint64_t at, std::span<std::byte> to) const;
  /// The file's first `size` bytes, one piece behind the other. They point into this object and into what was lent.
  [[nodiscard]] std::vector<tare_hdf5_piece> in_order(std::uint64_t size) const;
  /// Where the last byte written ends.
  [[nodiscard]] std::uint64_t end() const { return end_; }

 private:
  static constexpr std::uint64_t page_bytes = 65536;
  using Page = std::array<std::byte, page_bytes>;

  [[nodiscard]] bool is_lent(std::span<const std::byte> bytes) const;
  void keep(std::uint64_t at, std::span<const std::byte> bytes);
  void add_pages(std::uint64_t at, std::uint64_t end, std::vector<tare_hdf5_piece>& into) const;

  std::span<const std::byte> lent_;
  std::map<std::uint64_t, std::span<const std::byte>> borrowed_;  ///< by address; none overlaps another
  std::map<std::uint64_t, std::unique_ptr<Page>> pages_;          ///< by number; zeros where nothing was written
  std::uint64_t end_ = 0;
};

/// libhdf5's driver for one file, to be made anew.
class Driver {
 public:
  /// REQUIRES: `pieces` lives longer.
  explicit Driver(Pieces& pieces);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// Has a file that is made with that file access property list written into the pieces. REQUIRES: this lives longer.
  void use_for(hid_t access) const;
  /// Throws std::bad_alloc where something that libhdf5 wrote could not be kept.
  void require_written() const;

  struct File;

 private:
  std::unique_ptr<File> file_;
  Handle id_;
};

}  // namespace tare::hdf5
