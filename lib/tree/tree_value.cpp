// A node as a dialect and a report know it: its number or text, and the name of its type.
#include <fmt/format.h>

#include "lib/tree/tree.hpp"

namespace tare {
namespace {

/// The elements as nested lists by shape. Starts at `next`, which it moves on.
Value nested(const Tensor& tensor, std::size_t dimension, const Bytes& elements, std::size_t& next) {
  if (dimension == tensor.shape.size()) {
    Value value = element_value(tensor.type, elements.data() + next);
    next += tensor.type.size;
    return value;
  }
  ValueList list;
  for (std::int64_t i = 0; i < tensor.shape[dimension]; ++i)
    list.push_back(nested(tensor, dimension + 1, elements, next));
  return {std::move(list), "list"};
}

Value tensor_value(const Tree& tree, NodeId id, const TensorReader& reader, std::uint64_t max_elements) {
  const Tensor tensor = tree.tensor(id);
  Value value{{}, tensor.type_text()};
  if (tensor.type.size == 0 || tensor.count() > max_elements) return value;
  const Bytes elements = reader.elements(id);
  std::size_t next = 0;
  value.data = nested(tensor, 0, elements, next).data;
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
