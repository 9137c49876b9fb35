#include "lib/container/torch/dcp_metadata.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/pickle/read/global.hpp"

namespace tare {
namespace {

/// Packages whose names every such pickle has: that they are outside torch's weights_only is no news, because torch
/// loads this file without it.
constexpr auto expected_modules = std::to_array<std::string_view>({"torch", "pathlib", "collections"});

/// Thousands of small objects, each with a dict; those that say what shape each tensor has are of no interest here.
/// Room is made ahead only up to a size that does no harm where they are not what the file turns out to hold.
constexpr QualifiedName tensor_shapes{"torch.distributed.checkpoint.metadata", "TensorStorageMetadata"};
constexpr PickleHints small_objects{12, 3, {}};
constexpr std::uint64_t most_ahead = std::uint64_t{64} << 20;
/// How often an item's name is hashed or compared, here and by those who choose. One name can be that of many items.
constexpr std::uint64_t looks_at_a_key = 8;

bool is_expected(const GlobalName& global) {
  const std::string_view package = std::string_view(global.module).substr(0, global.module.find('.'));
  return trust_of(global.module, global.name) == Trust::allowed ||
         std::find(expected_modules.begin(), expected_modules.end(), package) != expected_modules.end();
}

class MetadataReader {
 public:
  MetadataReader(const Source& source, DcpMetadata& metadata)
      : source_(source), metadata_(metadata), tree_(metadata.pickle.tree) {}

  void read() {
    const NodeId root = tree_.root;
    if (!is_instance(root, "torch.distributed.checkpoint.metadata", "Metadata")) {
      throw Error(Status::corrupt,
                  fmt::format("{}: holds no metadata of a torch distributed checkpoint", source_.name()),
                  "it would run something else when loaded: find out where it comes from");
    }
    const NodeId data = tree_.find(tree_.fields(root), "storage_data");
    if (data == nowhere || tree_.kind(data) != Kind::map) fail("does not say where its items are stored");
    const auto pairs = tree_.items(data);
    metadata_.items.reserve(pairs.size() / 2);
    for (std::size_t i = 0; i < pairs.size(); i += 2) metadata_.items.push_back(item(pairs[i], pairs[i + 1]));
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(Status::corrupt, fmt::format("{}: {}", source_.name(), problem),
                "torch could not load this checkpoint either; take another copy");
  }

  [[nodiscard]] bool is_instance(NodeId node, std::string_view module, std::string_view name) const {
    const QualifiedName type = tree_.qualified_name(node);
    return node != nowhere && tree_.kind(node) == Kind::opaque && type.module == module && type.name == name;
  }

  [[nodiscard]] DcpItem item(NodeId index, NodeId info) {
    const NodeId name = tree_.find(tree_.fields(index), "fqn");
    if (name == nowhere || tree_.kind(name) != Kind::string) fail("an item has no name");
    DcpItem item;
    item.key = tree_.text(name);
    tree_.take_steps(looks_at_a_key * item.key.size());
    const NodeId chunk = tree_.find(tree_.fields(index), "offset");
    item.is_tensor = chunk != nowhere && tree_.kind(chunk) != Kind::none;

    const NodeId fields = tree_.fields(info);
    const NodeId file = tree_.find(fields, "relative_path");
    if (file == nowhere || tree_.kind(file) != Kind::string) fail(fmt::format("{} is in no file", item.key));
    item.file = file_number(tree_.text(file));
    item.offset = tree_.find(fields, "offset");
    item.length = tree_.find(fields, "length");
    item.place = {number(item.offset, item.key), number(item.length, item.key)};
    item.transforms = tree_.find(fields, "transform_descriptors");
    return item;
  }

  [[nodiscard]] std::uint64_t number(NodeId node, std::string_view key) const {
    constexpr std::int64_t largest = std::int64_t{1} << 62;
    if (node != nowhere && tree_.kind(node) == Kind::integer && !tree_.integer(node).is_big()) {
      const std::int64_t value = tree_.integer(node).value;
      if (value >= 0 && value < largest) return static_cast<std::uint64_t>(value);
    }
    fail(fmt::format("{} has no place in its file", key));
  }

  std::uint32_t file_number(std::string_view name) {
    const auto [known, is_new] = numbers_.try_emplace(name, static_cast<std::uint32_t>(metadata_.files.size()));
    if (is_new) metadata_.files.emplace_back(name);
    return known->second;
  }

  const Source& source_;
  DcpMetadata& metadata_;
  const Tree& tree_;
  std::unordered_map<std::string_view, std::uint32_t, KeyedHash> numbers_;
};

}  // namespace

std::unique_ptr<const DcpMetadata> read_dcp_metadata(const Source& source, DcpShapes shapes) {
  if (source.size() > limits::max_pickle_bytes) {
    throw Error(Status::refused, fmt::format("{}: {} bytes are too many", source.name(), source.size()));
  }
  auto metadata = std::make_unique<DcpMetadata>();
  metadata->text = std::make_shared<const Bytes>(source.read({0, source.size()}));
  PickleHints hints = source.size() <= most_ahead ? small_objects : PickleHints();
  hints.left_unread = shapes == DcpShapes::skipped ? tensor_shapes : QualifiedName();
  metadata->pickle = read_pickle(metadata->text, source.name(), 0, hints, source.budget());
  MetadataReader(source, *metadata).read();
  const auto& globals = metadata->pickle.globals;
  if (std::all_of(globals.begin(), globals.end(), is_expected)) {
    std::erase_if(metadata->pickle.findings, [](const Finding& f) { return f.code == "opaque-class"; });
  }
  return metadata;
}

std::vector<NodeId> length_nodes(const DcpMetadata& metadata, const DcpItem& tensor) {
  const Tree& tree = metadata.pickle.tree;
  const NodeId all = tree.find(tree.fields(tree.root), "state_dict_metadata");
  const NodeId own = tree.fields(tree.find(all, tensor.key));
  const auto chunks = tree.items(tree.find(own, "chunks"));
  std::vector<NodeId> lengths;
  for (const NodeId sizes :
       {tree.find(own, "size"), chunks.size() == 1 ? tree.find(tree.fields(chunks[0]), "sizes") : nowhere}) {
    const auto numbers = sizes == nowhere ? std::span<const NodeId>() : tree.items(sizes);
    if (numbers.size() == 1 && tree.kind(numbers[0]) == Kind::integer) lengths.push_back(numbers[0]);
  }
  if (lengths.size() == 2) return lengths;
  throw Error(Status::refused, fmt::format("{}: is a tensor in several chunks, or of several dimensions", tensor.key),
              "its size does not change");
}

std::string transform_names(const DcpMetadata& metadata, const DcpItem& item) {
  if (item.transforms == nowhere) return {};
  const Tree& tree = metadata.pickle.tree;
  const auto names = tree.items(item.transforms);
  tree.take_steps(names.size());
  std::string joined;
  for (const NodeId name : names) {
    joined += (joined.empty() ? "" : ", ") +
              (tree.kind(name) == Kind::string ? std::string(tree.text(name)) : std::string("?"));
  }
  const bool is_list = tree.kind(item.transforms) == Kind::list || tree.kind(item.transforms) == Kind::tuple;
  if (!is_list && tree.kind(item.transforms) != Kind::none) return "?";
  return joined;
}

}  // namespace tare
