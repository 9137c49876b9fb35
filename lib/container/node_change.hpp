// What an edit asks of one node of a container's tree.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/shared_bytes.hpp"
#include "lib/tree/document.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// A number in place of another.
using NewNumber = std::variant<bool, Integer, double>;

/// One value for chosen elements of a tensor or array: a single one, or a column of a history.
struct NewElement {
  std::uint64_t index = 0;  ///< of the first, in row-major order
  double value = 0;
  std::uint64_t count = 1;
  std::uint64_t stride = 1;                  ///< from one to the next
  std::optional<std::int64_t> integer = {};  ///< set where the value is an int that a double may round
};
using NewElements = std::vector<NewElement>;

/// Calls `act` with the index of each element that gets the value.
template <class Act>
void for_each_index(const NewElement& element, const Act& act) {
  for (std::uint64_t i = 0; i < element.count; ++i) act(element.index + i * element.stride);
}

/// The element's bytes, of integers of 64 bits all of them. Throws as element_bytes of the value does.
Bytes element_bytes(ElementType type, const NewElement& element, std::endian order);

/// All bytes that a node holds, anew: see contents_of (nested.hpp).
struct NewContents {
  SharedBytes bytes;
};

/// A tensor's shape and elements, anew.
struct NewTensor {
  std::vector<std::int64_t> shape;
  Bytes elements;  ///< little-endian, row-major
};

/// A text, anew.
struct NewText {
  std::string text;
};

/// None in place of a value.
struct NewNone {};

/// A value made from nothing. In place of None wherever that stands; in place of other values where they are an item of
/// a map or a list, in torch's files.
struct NewDocument {
  Document document;
};

/// What a map lacks; none of these keys is in it.
struct NewEntries {
  DocumentMap entries;
};

/// The item of a map goes, with its key; of a distributed checkpoint, all that an item holds. The node is its value.
struct Removal {};

using NodeValue = std::variant<bool, Integer, double, NewElements, NewContents, NewTensor, NewText, NewNone,
                               NewDocument, NewEntries, Removal>;

/// A node's new value. The container keeps the encoding's kind where the value allows: a float32 tensor stays one, a
/// Python int stays one for an Integer. Whoever asks has decided between Integer and double already.
struct NodeChange {
  NodeId node = nowhere;
  NodeValue value;
  std::string meaning;  ///< what a dry run calls it: "scale 65536.0 -> 1024.0"
  /// Where `node` holds a document of its own (Tree::open): the node in that, and the node in one within, and so on.
  std::vector<NodeId> inside = {};
};

/// The number that is asked for. Throws `refused` where it is something else.
NewNumber number_of(const NodeChange& change);
double as_double(const NewNumber& number);
/// The elements that are asked for, a number being the only one. Throws `refused` where the tensor does not have them.
NewElements elements_of(const NodeChange& change, const Tensor& tensor);

/// The meanings of the changes in one line: the first few, and how many more there are.
std::string joined_meaning(std::span<const NodeChange> changes);

}  // namespace tare
