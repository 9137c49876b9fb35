#include "lib/hdf5/heap.hpp"

#include <fmt/format.h>

#include <optional>

namespace tare {
namespace {

/// The objects of a global heap, one after the other.
class GlobalHeap {
 public:
  struct Object {
    std::uint64_t number = 0;
    Span place;  ///< an address
  };

  GlobalHeap(Hdf5File& file, std::uint64_t address) : file_(file), address_(address) {
    const Bytes head = file.read(address, head_size);
    Hdf5Fields fields(head, "global heap");
    fields.require_signature("GCOL");
    fields.skip(4);
    size_ = fields.length();
  }

  /// Nothing at the end, and at the free space in front of it.
  std::optional<Object> next() {
    if (size_ < head_size || at_ > size_ - head_size) return std::nullopt;
    const Bytes head = file_.read(address_ + at_, head_size);
    Hdf5Fields entry(head, "global heap");
    Object object;
    object.number = entry.number(2);
    entry.skip(6);
    object.place = {address_ + at_ + head_size, entry.length()};
    at_ += head_size;
    if (object.number == 0 || object.place.size > size_ - at_) return std::nullopt;
    at_ += (object.place.size + 7) / 8 * 8;
    return object;
  }

 private:
  static constexpr std::uint64_t head_size = 16;

  Hdf5File& file_;
  std::uint64_t address_;
  std::uint64_t size_ = 0;
  std::uint64_t at_ = head_size;
};

Span text_in(Span object, const Hdf5HeapId& id) {
  if (id.length <= object.size) return {object.offset, id.length};
  throw Hdf5NotRead{fmt::format("a text that says it is {} bytes long stands in {}", id.length, object.size)};
}

[[noreturn]] void throw_missing(const Hdf5File& file, const Hdf5HeapId& id) {
  throw Hdf5NotRead{
      fmt::format("a text that is not in its heap (object {} at offset {})", id.number, file.offset(id.heap))};
}

}  // namespace

Hdf5LocalHeap::Hdf5LocalHeap(Hdf5File& file, std::uint64_t address) : file_(file) {
  const Bytes block = file.read(address, 32);
  Hdf5Fields fields(block, "local heap");
  fields.require_signature("HEAP");
  fields.skip(4);
  const std::uint64_t size = fields.length();
  const std::uint64_t first_free = fields.length();
  data_at_ = fields.address();
  data_ = file.look(data_at_, size);
  note_free_blocks(first_free);
}

/// Each begins with the offset of the next one and its own size.
void Hdf5LocalHeap::note_free_blocks(std::uint64_t first) const {
  constexpr std::uint64_t head_size = 16;
  std::uint64_t at = first;
  for (std::size_t left = data_.size() / head_size; left > 0 && at <= data_.size() - head_size; --left) {
    file_.note(data_at_ + at, head_size);
    at = load_le<std::uint64_t>(data_.data() + at);
  }
}

std::string Hdf5LocalHeap::text(std::uint64_t offset) const {
  const std::string_view all = as_text(data_);
  const std::size_t end = offset < all.size() ? all.find('\0', offset) : all.npos;
  if (end == all.npos) throw Hdf5NotRead{fmt::format("a name at {} of a local heap of {} bytes", offset, all.size())};
  file_.source().budget()->take_memory(end - offset);  // any number of names may lead there
  file_.note(data_at_ + offset, end - offset);
  return std::string(all.substr(offset, end - offset));
}

Hdf5HeapId read_hdf5_heap_id(ByteView element) {
  Hdf5Fields fields(element, "variable-length element");
  const std::uint64_t length = fields.number(4);
  const std::uint64_t heap = fields.address();
  return {length, heap, fields.number(4)};
}

Span find_hdf5_global(Hdf5File& file, const Hdf5HeapId& id) {
  if (id.length == 0) return {};
  GlobalHeap heap(file, id.heap);
  while (const auto object = heap.next()) {
    if (object->number == id.number) return text_in(object->place, id);
  }
  throw_missing(file, id);
}

Span Hdf5GlobalHeaps::find(const Hdf5HeapId& id) {
  if (id.length == 0) return {};
  if (!heaps_.contains(id.heap)) heaps_.emplace(id.heap, read_hdf5_global_heap(file_, id.heap));
  const auto& objects = heaps_.at(id.heap);
  const auto object = objects.find(id.number);
  if (object == objects.end()) throw_missing(file_, id);
  return text_in(object->second, id);
}

std::unordered_map<std::uint64_t, Span> read_hdf5_global_heap(Hdf5File& file, std::uint64_t address) {
  constexpr std::uint64_t bytes_an_object = 64;
  std::unordered_map<std::uint64_t, Span> objects;
  GlobalHeap heap(file, address);
  while (const auto object = heap.next()) {
    file.source().budget()->take_memory(bytes_an_object);
    objects.try_emplace(object->number, object->place);
  }
  return objects;
}

}  // namespace tare
