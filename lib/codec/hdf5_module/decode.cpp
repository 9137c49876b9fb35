// Reads what encode.cpp wrote, without libhdf5, which falls over hostile files: only what tare itself writes is
// understood, and all else is refused.
#include <algorithm>
#include <string>
#include <string_view>

#include "lib/codec/hdf5_module/format.hpp"
#include "lib/codec/hdf5_module/group.hpp"
#include "lib/codec/hdf5_module/values.hpp"

namespace tare::hdf5 {
namespace {

/// The address of the root's header.
std::uint64_t read_superblock(Image& image) {
  Fields fields = image.metadata(0, 96, "the superblock");
  fields.skip(8);  // HDF5's signature, which brought the file here
  fields.require(5, 0, "parts of versions");
  fields.require(3, 0x000808, "sizes of addresses");
  fields.skip(2 + 2 + 4);
  fields.require(8, 0, "a file that begins at");
  fields.skip(8);
  fields.require(8, image.size(), "the file's size is");
  fields.skip(8 + 8);
  return fields.address();
}

class Reader {
 public:
  Reader(Image& image, const tare_hdf5_sink& sink, std::uint64_t max_bytes)
      : image_(image), sink_(sink), left_(max_bytes) {}

  void read_section(const Link& section) {
    for (const Link& link : read_links(image_, Object(image_, section.object, section.name))) {
      read_value({image_, link.object, section.name + "." + link.name}, section.name, link.name);
    }
  }

 private:
  void read_value(const Object& dataset, const std::string& section, const std::string& name) {
    const std::string& place = dataset.place();
    const Shape shape = read_shape(dataset.require(MessageType::dataspace, "shape"), place);
    const ElementType type = read_type(dataset.require(MessageType::datatype, "type"), place);
    tare_hdf5_entry entry{};
    entry.section = section.c_str();
    entry.name = name.c_str();
    if (shape.is_null) return sink_.entry(sink_.context, &entry);
    entry.element = type.element;
    entry.width = type.element == TARE_HDF5_TEXT ? type.size : 0;
    entry.rank = static_cast<std::uint32_t>(shape.sizes.size());
    std::ranges::copy(shape.sizes, entry.shape);
    const Bytes values = read_values(image_, dataset, shape, type.size, claim(shape, type, place));
    if (type.element == TARE_HDF5_BOOL) require_bool(entry, values, place);
    if (type.element == TARE_HDF5_TEXT && dataset.text("kind") == "json") entry.element = TARE_HDF5_JSON;
    if (entry.element == TARE_HDF5_JSON && entry.rank != 0) refuse(place, "is many texts of JSON");
    entry.data = values.data();
    sink_.entry(sink_.context, &entry);
  }

  static void require_bool(const tare_hdf5_entry& entry, const Bytes& values, const std::string& place) {
    if (entry.rank != 0) refuse(place, "is many bools");
    if (values.front() > std::byte{1}) refuse(place, "is neither true nor false");
  }

  /// Bytes of the values. What they will take in a state is taken off what is left.
  std::uint64_t claim(const Shape& shape, ElementType type, const std::string& place) {
    const std::uint64_t element_bytes = type.element == TARE_HDF5_TEXT ? type.size + sizeof(std::string) : type.size;
    std::uint64_t count = 1;
    std::uint64_t bytes = 0;
    for (const std::uint64_t size : shape.sizes) {
      if (__builtin_mul_overflow(count, size, &count)) refuse(place, "claims more than any file holds");
    }
    if (__builtin_mul_overflow(count, element_bytes, &bytes) || bytes > left_) {
      refuse(place, std::to_string(count) + " values are more than there can be in a file of " +
                        std::to_string(image_.size()) + " bytes");
    }
    left_ -= bytes;
    return count * type.size;
  }

  Image& image_;
  const tare_hdf5_sink& sink_;
  std::uint64_t left_;
};

}  // namespace

void decode(const void* bytes, std::uint64_t size, std::uint64_t max_bytes, const tare_hdf5_sink& sink) {
  Image image({static_cast<const std::byte*>(bytes), size});
  const Object root(image, read_superblock(image), "the root");
  const std::string schema = root.text("schema");
  const std::string policy = root.text("policy");
  sink.begin(sink.context, schema.c_str(), policy.c_str());
  Reader reader(image, sink, max_bytes);
  const std::vector<Link> sections = read_symbols(image, root);
  for (const char* name : section_names) {
    const auto section = std::ranges::find(sections, name, &Link::name);
    if (section == sections.end()) refuse("the root", std::string("has no \"") + name + "\"");
    reader.read_section(*section);
  }
}

}  // namespace tare::hdf5
