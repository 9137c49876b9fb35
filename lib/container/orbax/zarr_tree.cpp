#include "lib/container/orbax/zarr_tree.hpp"

#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/element_patch.hpp"
#include "lib/container/held_tensors.hpp"
#include "lib/container/nested_keys.hpp"

namespace tare {
namespace {

/// What a chunk may take beyond its elements: frames, checksums, a shard's index.
constexpr std::uint64_t most_document_bytes = std::uint64_t{1} << 20;

class ValueReader {
 public:
  ValueReader(ZarrStore& store, const std::shared_ptr<Budget>& budget) : store_(store), budget_(budget) {}

  /// Throws `unsupported` or `corrupt` where there is no array of that name that can be read.
  ZarrTree::Value read(const std::string& name) {
    for (const std::string_view document : {zarr2_document, zarr3_document}) {
      const auto text = store_.get(name + "/" + std::string(document), most_document_bytes);
      if (!text) continue;
      ZarrTree::Value value;
      value.array = zarr_array(*text, document, name, budget_);
      value.chunk_key = name + "/" + value.array.chunk;
      auto chunk = store_.get(value.chunk_key, limits::max_tensor_read_bytes);
      if (!chunk) throw Error(Status::corrupt, name + ": its chunk is not there");
      budget_->take_memory(bytes_a_value + name.size() + chunk->size());
      value.chunk = std::move(*chunk);
      return value;
    }
    throw Error(Status::corrupt, name + ": no document says what kind of array it is");
  }

 private:
  /// With its names, here and in the folder or database.
  static constexpr std::size_t bytes_a_value = sizeof(ZarrTree::Value) + 256;

  ZarrStore& store_;
  const std::shared_ptr<Budget>& budget_;
};

/// Python's int and float become the widest arrays there are.
bool may_be_python_number(const Tensor& tensor) {
  return tensor.shape.empty() && (tensor.type.name == "int64" || tensor.type.name == "float64");
}

Node number_node(ElementType type, const Bytes& elements) {
  const auto value = element_value(type, elements.data());
  Node node;
  if (const auto* integer = std::get_if<Integer>(&value.data)) {
    node.kind = Kind::integer;
    node.as.integer = integer->value;
  } else {
    node.kind = Kind::floating;
    node.as.floating = std::get<double>(value.data);
  }
  return node;
}

}  // namespace

ZarrTree::ZarrTree(ZarrStore& store, std::vector<std::string> names, const PythonNumbers& python_numbers,
                   std::shared_ptr<Budget> budget)
    : names_(std::move(names)), tree_(std::move(budget)) {
  NestedKeys keys(tree_);
  auto tensors = std::make_shared<HeldTensors>();
  std::optional<std::set<std::string>> numbers;
  for (const std::string& name : names_) {
    try {
      Value value = ValueReader(store, tree_.budget()).read(name);
      const Tensor& tensor = value.array.tensor;
      Bytes elements = zarr_elements(value.array, value.chunk, name, tree_.budget().get());
      tree_.take_memory(elements.size());
      if (may_be_python_number(tensor) && !numbers) numbers = python_numbers();
      const bool is_number = may_be_python_number(tensor) && numbers->contains(name);
      Node array;
      array.kind = Kind::array;
      const NodeId node = tree_.add(is_number ? number_node(tensor.type, elements) : array);
      if (!is_number) tensors->add(node, tensor, std::move(elements));
      keys.add(name, node);
      values_.emplace(node, std::move(value));
    } catch (const Error& error) {
      if (tree_.budget()->is_spent()) throw;
      findings_.push_back({Severity::error, "item-not-read", error.what(), "", name});
    }
  }
  tree_.root = keys.write();
  tree_.install(std::move(tensors));
}

const ZarrTree::Value* ZarrTree::value(NodeId node) const {
  const auto found = values_.find(node);
  return found == values_.end() ? nullptr : &found->second;
}

Bytes ZarrTree::changed_chunk(const NodeChange& change) const {
  const ZarrArray& array = values_.at(change.node).array;
  // A number of Python's own is no tensor of the tree, and needs no bytes of before.
  Bytes before = tree_.kind(change.node) == Kind::array ? tree_.reader()->elements(change.node)
                                                        : Bytes(array.tensor.type.size * array.tensor.count());
  return zarr_chunk(array, changed_elements(array.tensor, std::move(before), std::endian::little, change));
}

}  // namespace tare
