#include "lib/codec/hdf5_module/group.hpp"

#include <algorithm>

#include "lib/codec/hdf5_module/format.hpp"

namespace tare::hdf5 {
namespace {

constexpr std::uint64_t max_links = 4096;

Link read_link(ByteView message, const std::string& place) {
  constexpr std::uint64_t has_order = 4;
  Fields fields(message, place);
  fields.require(1, 1, "a link of version");
  const std::uint64_t flags = fields.number(1);
  if ((flags & ~std::uint64_t{3}) != has_order) refuse(place, "a link of a kind that no state has");
  Link link;
  link.order = fields.number(8);
  link.name = name_of_link(std::string(as_text(fields.take(fields.number(std::size_t{1} << (flags & 3))))));
  if (link.name.find('\0') != std::string::npos) refuse(place, "a name has a NUL character");
  link.object = fields.address();
  return link;
}

/// A NUL-ended name in the root's local heap.
std::string read_name(Image& image, std::uint64_t heap, std::uint64_t at, const std::string& place) {
  Fields head = image.metadata(heap, 32, place);
  head.require("HEAP");
  head.skip(4);
  const std::uint64_t size = head.number(8);
  head.skip(8);
  const std::uint64_t begin = head.address();
  if (at > size || begin > image.size()) refuse(place, "a name is outside of where names are");
  const std::string_view text = as_text(image.metadata_bytes(begin + at, size - at, place));
  return std::string(text.substr(0, text.find('\0')));
}

}  // namespace

std::vector<Link> read_symbols(Image& image, const Object& root) {
  constexpr std::size_t node_head = 24;
  constexpr std::size_t table_head = 8;
  constexpr std::size_t symbol_size = 40;
  const std::string& place = root.place();
  Fields table(root.require(MessageType::symbol_table, "symbol table"), place);
  const std::uint64_t tree = table.address();
  const std::uint64_t heap = table.address();
  Fields node = image.metadata(tree, node_head + 16, place);
  node.require("TREE");
  node.require(2, 0, "a tree of kind and level");
  node.require(2, 1, "tables of names:");
  node.skip(8 + 8 + 8);
  const std::uint64_t symbols = node.address();
  Fields head = image.metadata(symbols, table_head, place);
  head.require("SNOD");
  head.skip(2);
  const std::uint64_t count = head.number(2);
  Fields fields = image.metadata(symbols + table_head, count * symbol_size, place);
  std::vector<Link> links;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t name = fields.number(8);
    const std::uint64_t object = fields.address();
    const std::uint64_t kind = fields.number(4);
    fields.skip(4 + 16);
    if (kind > 1) refuse(place, "a link of a kind that no state has");
    links.push_back({i, read_name(image, heap, name, place), object});
  }
  return links;
}

std::vector<Link> read_links(Image& image, const Object& group) {
  constexpr std::uint64_t ordered_and_indexed = 3;
  const std::string& place = group.place();
  Fields info(group.require(MessageType::link_info, "links"), place);
  info.require(1, 0, "links of version");
  info.require(1, ordered_and_indexed, "links of kind");
  info.skip(8);
  const std::uint64_t heap = info.address();
  info.skip(8);
  std::vector<ByteView> messages;
  if (heap != no_address) messages = read_many_links(image, heap, info.address(), place);
  for (const Message& message : group.messages()) {
    if (message.type == MessageType::link) messages.push_back(message.bytes);
  }
  if (messages.size() > max_links) refuse(place, std::to_string(messages.size()) + " entries are too many");
  std::vector<Link> links;
  std::vector<std::string_view> names;
  links.reserve(messages.size());
  names.reserve(messages.size());
  for (const ByteView message : messages) links.push_back(read_link(message, place));
  for (const Link& link : links) names.push_back(link.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) refuse(place, "\"" + std::string(*twice) + "\" stands there twice");
  std::ranges::sort(links, {}, &Link::order);
  return links;
}

}  // namespace tare::hdf5
