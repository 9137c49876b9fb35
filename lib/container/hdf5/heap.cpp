#include "lib/container/hdf5/heap.hpp"

#include <fmt/format.h>

namespace tare {

Hdf5LocalHeap::Hdf5LocalHeap(Hdf5File& file, std::uint64_t address) : budget_(file.source().budget()) {
  const Bytes block = file.read(address, 32);
  Hdf5Fields fields(block, "local heap");
  fields.require_signature("HEAP");
  fields.skip(4);
  const std::uint64_t size = fields.length();
  fields.skip(8);
  data_ = file.read(fields.address(), size);
}

std::string Hdf5LocalHeap::text(std::uint64_t offset) const {
  const std::string_view all = as_text(data_);
  const std::size_t end = offset < all.size() ? all.find('\0', offset) : all.npos;
  if (end == all.npos) throw Hdf5NotRead{fmt::format("a name at {} of a local heap of {} bytes", offset, all.size())};
  budget_->take_memory(end - offset);  // any number of names may lead there
  return std::string(all.substr(offset, end - offset));
}

Hdf5HeapId read_hdf5_heap_id(ByteView element) {
  Hdf5Fields fields(element, "variable-length element");
  const std::uint64_t length = fields.number(4);
  const std::uint64_t heap = fields.address();
  return {length, heap, fields.number(4)};
}

Span find_hdf5_global(Hdf5File& file, const Hdf5HeapId& id) {
  constexpr std::uint64_t head_size = 16;
  if (id.length == 0) return {};
  const Bytes head = file.read(id.heap, head_size);
  Hdf5Fields fields(head, "global heap");
  fields.require_signature("GCOL");
  fields.skip(4);
  const std::uint64_t size = fields.length();
  for (std::uint64_t at = head_size; size >= head_size && at <= size - head_size;) {
    const Bytes object = file.read(id.heap + at, head_size);
    Hdf5Fields entry(object, "global heap");
    const std::uint64_t number = entry.number(2);
    entry.skip(6);
    const std::uint64_t length = entry.length();
    at += head_size;
    if (length > size - at) break;
    if (number == 0) break;  // the free space at the end
    if (number == id.number) {
      if (id.length > length) {
        throw Hdf5NotRead{fmt::format("a text that says it is {} bytes long stands in {}", id.length, length)};
      }
      return {id.heap + at, id.length};
    }
    at += (length + 7) / 8 * 8;
  }
  throw Hdf5NotRead{
      fmt::format("a text that is not in its heap (object {} at offset {})", id.number, file.offset(id.heap))};
}

}  // namespace tare
