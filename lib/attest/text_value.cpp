#include "lib/attest/text_value.hpp"

namespace tare {
namespace {

bool is_of_omegaconf(const Tree& tree, NodeId node) {
  return tree.kind(node) == Kind::opaque && tree.qualified_name(node).module.starts_with("omegaconf.");
}

}  // namespace

NodeId text_node(const Tree& tree, NodeId node) {
  if (node == nowhere || tree.kind(node) == Kind::string) return node;
  const NodeId value = is_of_omegaconf(tree, node) ? tree.find(tree.fields(node), "_val") : nowhere;
  return value != nowhere && tree.kind(value) == Kind::string ? value : nowhere;
}

std::string_view text_in(const Tree& tree, NodeId node) {
  const NodeId text = text_node(tree, node);
  return text == nowhere ? std::string_view() : tree.text(text);
}

NodeId keyed(const Tree& tree, NodeId node) {
  const NodeId fields = tree.fields(node);
  if (fields == nowhere || !is_of_omegaconf(tree, node)) return fields;
  const NodeId content = tree.find(fields, "_content");
  return content != nowhere && tree.kind(content) == Kind::map ? content : nowhere;
}

}  // namespace tare
