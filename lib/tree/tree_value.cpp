// A node as a dialect and a report know it: its number or text, and the name of its type.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/limits.hpp"
#include "lib/tree/tree.hpp"

namespace tare {
namespace {

/// The only element in as many lists as there are dimensions.
Value nested(Value element, std::size_t dimensions) {
  for (std::size_t i = 0; i < dimensions; ++i) {
    ValueList list;
    list.push_back(std::move(element));
    element = {std::move(list), "list"};
  }
  return element;
}

/// What an element costs that is kept: as it is stored, unpacked and taken over; small ones, their text.
std::uint64_t bytes_an_element(const ElementType& type) {
  return std::max<std::uint64_t>(12, 3 * std::uint64_t{type.size});
}

Value tensor_value(const Tree& tree, NodeId id, const TensorReader& reader, std::uint64_t max_elements) {
  Tensor tensor = tree.tensor(id);
  Value value{{}, tensor.type_text()};
  const std::uint64_t count = tensor.count();
  if (tensor.type.size == 0 || count > max_elements) return value;
  tree.keep_memory(count * bytes_an_element(tensor.type));
  Bytes elements = reader.elements(id);
  if (count == 1) {
    value.data = nested(element_value(tensor.type, elements.data()), tensor.shape.size()).data;
  } else {
    value.data = PackedArray{tensor.type, std::move(tensor.shape), std::move(elements)};
  }
  return value;
}

Value name_value(const Tree& tree, NodeId id) {
  const QualifiedName name = tree.qualified_name(id);
  const bool is_dtype = name.module == "torch" && element_type(name.name).size != 0;
  return {fmt::format("{}.{}", name.module, name.name), is_dtype ? "torch.dtype" : "name"};
}

std::string object_type(const Tree& tree, NodeId id) {
  const QualifiedName name = tree.qualified_name(id);
  if (name.name.empty()) return "object";
  return fmt::format("object:{}.{}", name.module, name.name);
}

}  // namespace

Value Tree::value(NodeId id, std::uint64_t max_elements) const {
  const Node& node = nodes_[id];
  keep_memory(sizeof(Value));
  switch (node.kind) {
    case Kind::none:
      return {{}, "None"};
    case Kind::boolean:
      return {node.as.boolean, "bool"};
    case Kind::integer:
      return {integer(id), "int"};
    case Kind::floating:
      return {node.as.floating, "float"};
    case Kind::string:
      if (node.as.run.count > limits::max_text_value_bytes) return {{}, "str"};
      keep_memory(node.as.run.count);
      return {std::string(text(id)), "str"};
    case Kind::bytes:
      return {{}, "bytes"};
    case Kind::list:
      return {{}, "list"};
    case Kind::tuple:
      return {{}, "tuple"};
    case Kind::set:
      return {{}, "set"};
    case Kind::map:
      return {{}, "dict"};
    case Kind::tensor:
    case Kind::array:
      return tensor_value(*this, id, *reader_, max_elements);
    case Kind::name:
      return name_value(*this, id);
    case Kind::opaque:
      break;
  }
  return {{}, object_type(*this, id)};
}

}  // namespace tare
