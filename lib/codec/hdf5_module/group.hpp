// A group's links: in a symbol table (the root's), in its header (few), or in a fractal heap (many).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/codec/hdf5_module/object.hpp"

namespace tare::hdf5 {

struct Link {
  std::uint64_t order;  ///< in which the links were made
  std::string name;     ///< as the state has it
  std::uint64_t object;
};

/// Of the root, where no order is kept.
std::vector<Link> read_symbols(Image& image, const Object& root);

/// Of a section, in order. Throws `corrupt` for names that stand there twice, and for links that lead elsewhere.
std::vector<Link> read_links(Image& image, const Object& group);

/// The link messages of a group with many. `index` is the B-tree by order.
std::vector<ByteView> read_many_links(Image& image, std::uint64_t heap, std::uint64_t index, const std::string& place);

}  // namespace tare::hdf5
