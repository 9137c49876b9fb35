// HDF5: the heaps that names and texts stand in (specification III.D, III.E).
#pragma once

#include <string>
#include <unordered_map>

#include "lib/base/bytes.hpp"
#include "lib/hdf5/file.hpp"

namespace tare {

/// The names of one group of the old kind.
class Hdf5LocalHeap {
 public:
  Hdf5LocalHeap(Hdf5File& file, std::uint64_t address);
  /// The text that starts there. Throws Hdf5NotRead where it does not end.
  [[nodiscard]] std::string text(std::uint64_t offset) const;

 private:
  void note_free_blocks(std::uint64_t first) const;

  Hdf5File& file_;
  std::uint64_t data_at_ = 0;
  Bytes data_;
};

/// The place of an object of a global heap, as an element of variable length names it: length, heap, number.
struct Hdf5HeapId {
  std::uint64_t length = 0;
  std::uint64_t heap = 0;
  std::uint64_t number = 0;
};

Hdf5HeapId read_hdf5_heap_id(ByteView element);

/// Where the first `id.length` bytes of that object stand (an address). Throws Hdf5NotRead where it is shorter, or
/// there is none.
Span find_hdf5_global(Hdf5File& file, const Hdf5HeapId& id);

/// Where objects of global heaps stand, for whoever asks for many: each heap is read once.
class Hdf5GlobalHeaps {
 public:
  explicit Hdf5GlobalHeaps(Hdf5File& file) : file_(file) {}
  /// As find_hdf5_global.
  [[nodiscard]] Span find(const Hdf5HeapId& id);

 private:
  Hdf5File& file_;
  std::unordered_map<std::uint64_t, std::unordered_map<std::uint64_t, Span>> heaps_;  ///< by address
};

/// All objects of a global heap by their numbers, by address.
std::unordered_map<std::uint64_t, Span> read_hdf5_global_heap(Hdf5File& file, std::uint64_t address);

}  // namespace tare
