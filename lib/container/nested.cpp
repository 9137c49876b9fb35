#include "lib/container/nested.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/node_change.hpp"
#include "lib/container/preview.hpp"

namespace tare {
namespace {

void require_small(std::uint64_t size) {
  if (size <= limits::max_nested_bytes) return;
  throw Error(Status::refused,
              fmt::format("a nested document of {} bytes; the limit is {}", size, limits::max_nested_bytes));
}

/// What an io.BytesIO holds: its state is (bytes, position, attributes). nowhere for anything else.
NodeId bytes_of_stream(const Tree& tree, NodeId node) {
  const QualifiedName name = tree.qualified_name(node);
  if (name.name != "BytesIO" || (name.module != "_io" && name.module != "io")) return nowhere;
  for (const NodeId from : {tree.state(node), tree.arguments(node)}) {
    const auto items = tree.items(from);
    if (!items.empty() && tree.kind(items.front()) == Kind::bytes) return items.front();
  }
  return nowhere;
}

}  // namespace

std::shared_ptr<const Source> nested_source(const Tree& tree, const std::string& file, Bytes contents) {
  std::string name = file + " (nested)";
  std::shared_ptr<Budget> budget;  // a part, so that there is memory for the next one when this is done with
  if (tree.budget() != nullptr) {
    tree.budget()->take_document(contents.size());
    budget = std::make_shared<Budget>(name, contents.size(), tree.budget());
  }
  return std::make_shared<const MemorySource>(std::move(name), std::move(contents), std::move(budget));
}

NodeId bytes_node(const Tree& tree, NodeId node) {
  const NodeId bytes = tree.kind(node) == Kind::opaque ? bytes_of_stream(tree, node) : node;
  return bytes != nowhere && tree.kind(bytes) == Kind::bytes ? bytes : nowhere;
}

std::optional<Bytes> contents_of(const Tree& tree, NodeId node) {
  const Kind kind = tree.kind(node);
  if (kind == Kind::tensor || kind == Kind::array) {
    const Tensor tensor = tree.tensor(node);
    if (tensor.type.name != "uint8" || tensor.shape.size() != 1) return std::nullopt;
    require_small(tensor.count());
    return tensor.count() == 0 ? Bytes() : tree.reader()->elements(node);
  }
  const NodeId bytes = bytes_node(tree, node);
  if (bytes == nowhere) return std::nullopt;
  const ByteView text = as_bytes(tree.text(bytes));
  require_small(text.size());
  return Bytes(text.begin(), text.end());
}

std::unique_ptr<Container> open_nested(const Tree& tree, NodeId node, const std::string& file) {
  std::optional<Bytes> contents = contents_of(tree, node);
  if (!contents || contents->empty()) return nullptr;
  return open_container(nested_source(tree, file, *std::move(contents)));
}

std::shared_ptr<const Tree> open_nested_tree(const Tree& tree, NodeId node, const std::string& file) {
  const std::shared_ptr<const Container> container = open_nested(tree, node, file);
  return container == nullptr ? nullptr : std::shared_ptr<const Tree>(container, &container->tree());
}

std::vector<NodeChange> without_nesting(const Tree& tree, std::span<const NodeChange> changes,
                                        const std::string& file) {
  std::vector<NodeChange> direct;
  std::map<NodeId, std::vector<NodeChange>> nested;
  for (const NodeChange& change : changes) {
    if (change.inside.empty()) {
      direct.push_back(change);
    } else {
      nested[change.node].push_back(
          {change.inside.front(), change.value, change.meaning, {change.inside.begin() + 1, change.inside.end()}});
    }
  }
  for (const auto& [node, inner] : nested) {
    std::optional<Bytes> contents = contents_of(tree, node);
    if (!contents) throw Error(Status::internal, "a change inside a node that holds no document");
    const auto source = nested_source(tree, file, *std::move(contents));
    const FileChange change = open_container(source)->change(inner);
    const PreviewSource after(source, change);
    direct.push_back({node, NewContents{after.read(Span{0, after.size()})}, joined_meaning(inner)});
  }
  return direct;
}

}  // namespace tare
