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
/// What Megatron keeps of its plan for each rank, in terms of the shapes.
constexpr QualifiedName planned_writes{"torch.distributed.checkpoint.planner", "WriteItem"};
constexpr PickleHints small_objects{12, 3, {}};
constexpr std::uint64_t most_ahead = std::uint64_t{64} << 20;
/// How often an item's name is hashed or compared, here and by those who choose. One name can be that of many items.
constexpr std::uint64_t looks_at_a_key = 8;

bool is_expected(const GlobalName& global) {
  const std::string_view package = std::string_view(global.module).substr(0, global.module.find('.'));
  return trust_of(global.module, global.name) == Trust::allowed ||
         std::find(expected_modules.begin(), expected_modules.end(), package) != expected_modules.end();
}

/// Reads the items of a tree; or takes them while the pickle is read, of which nothing is left then but their names.
class MetadataReader final : public PairTaker {
 public:
  MetadataReader(const Source& source, DcpMetadata& metadata, DcpShapes shapes)
      : source_(source), metadata_(metadata), shapes_(shapes) {
    start_anew();
  }

  [[nodiscard]] bool take(const Tree& tree, NodeId name, NodeId map, std::span<const NodeId> pairs) override {
    if (tree.text(name) == ways) return true;
    if (tree.text(name) != places || (map_ != nowhere && map_ != map)) return false;
    map_ = map;
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      add(tree, pairs[i], pairs[i + 1]);
      // One that does not stand in the text would move.
      if (tree[name_of(tree, pairs[i])].store != RunIn::text) throw NeedsEveryOpcode();
    }
    return true;
  }

  void start_anew() override {
    map_ = nowhere;
    metadata_.files.clear();
    metadata_.transforms.assign(1, {});
    metadata_.items.resize_unwritten(0);
    numbers_.clear();
  }

  /// False where some items were taken and others are in the tree.
  [[nodiscard]] bool finish() {
    const Tree& tree = metadata_.pickle.tree;
    const NodeId root = tree.root;
    if (!is_instance(root, "torch.distributed.checkpoint.metadata", "Metadata")) {
      throw Error(Status::corrupt,
                  fmt::format("{}: holds no metadata of a torch distributed checkpoint", source_.name()),
                  "it would run something else when loaded: find out where it comes from");
    }
    const NodeId data = tree.find(tree.fields(root), places);
    if (data == nowhere || tree.kind(data) != Kind::map) fail("does not say where its items are stored");
    const auto pairs = tree.items(data);
    if (map_ != nowhere) return map_ == data && pairs.empty();
    metadata_.items.reserve(pairs.size() / 2);
    for (std::size_t i = 0; i < pairs.size(); i += 2) add(tree, pairs[i], pairs[i + 1]);
    return true;
  }

 private:
  static constexpr std::string_view places = "storage_data";
  static constexpr std::string_view ways = "planner_data";

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(Status::corrupt, fmt::format("{}: {}", source_.name(), problem),
                "torch could not load this checkpoint either; take another copy");
  }

  [[nodiscard]] bool is_instance(NodeId node, std::string_view module, std::string_view name) const {
    const Tree& tree = metadata_.pickle.tree;
    const QualifiedName type = tree.qualified_name(node);
    return node != nowhere && tree.kind(node) == Kind::opaque && type.module == module && type.name == name;
  }

  [[nodiscard]] static NodeId name_of(const Tree& tree, NodeId index) { return tree.find(tree.fields(index), "fqn"); }

  void add(const Tree& tree, NodeId index, NodeId info) {
    const NodeId name = name_of(tree, index);
    if (name == nowhere || tree.kind(name) != Kind::string) fail("an item has no name");
    DcpItem item;
    item.key = tree.text(name);
    tree.take_steps(looks_at_a_key * item.key.size());
    const NodeId chunk = tree.find(tree.fields(index), "offset");
    item.is_tensor = chunk != nowhere && tree.kind(chunk) != Kind::none;

    const NodeId fields = tree.fields(info);
    const NodeId file = tree.find(fields, "relative_path");
    if (file == nowhere || tree.kind(file) != Kind::string) fail(fmt::format("{} is in no file", item.key));
    item.file = file_number(tree, file);
    const DcpPlaceNodes own{tree.find(fields, "offset"), tree.find(fields, "length")};
    item.place = {number(tree, own.offset, item.key), number(tree, own.length, item.key)};
    item.transforms = transforms(tree, tree.find(fields, "transform_descriptors"));
    tree.take_memory(sizeof(DcpItem));
    metadata_.items.push_back(item);
    if (shapes_ == DcpShapes::read) metadata_.nodes.push_back(own);
  }

  [[nodiscard]] std::uint64_t number(const Tree& tree, NodeId node, std::string_view key) const {
    constexpr std::int64_t largest = std::int64_t{1} << 62;
    if (node != nowhere && tree.kind(node) == Kind::integer && !tree.integer(node).is_big()) {
      const std::int64_t value = tree.integer(node).value;
      if (value >= 0 && value < largest) return static_cast<std::uint64_t>(value);
    }
    fail(fmt::format("{} has no place in its file", key));
  }

  std::uint32_t file_number(const Tree& tree, NodeId file) {
    const auto [known, is_new] =
        numbers_.try_emplace(std::string(tree.text(file)), static_cast<std::uint32_t>(metadata_.files.size()));
    if (is_new) metadata_.files.push_back(known->first);
    return known->second;
  }

  /// Few differ: what one saver does to its items.
  std::uint32_t transforms(const Tree& tree, NodeId list) {
    std::string names = list == nowhere ? std::string() : joined(tree, list);
    if (names.empty()) return 0;
    auto& all = metadata_.transforms;
    auto known = std::find(all.begin(), all.end(), names);
    tree.take_steps(all.size() * sizeof(names));
    if (known == all.end()) known = all.insert(known, std::move(names));
    return static_cast<std::uint32_t>(known - all.begin());
  }

  [[nodiscard]] static std::string joined(const Tree& tree, NodeId list) {
    const auto names = tree.items(list);
    tree.take_steps(names.size());
    std::string joined;
    for (const NodeId name : names) {
      joined += (joined.empty() ? "" : ", ") +
                (tree.kind(name) == Kind::string ? std::string(tree.text(name)) : std::string("?"));
    }
    const bool is_list = tree.kind(list) == Kind::list || tree.kind(list) == Kind::tuple;
    if (!is_list && tree.kind(list) != Kind::none) return "?";
    tree.take_memory(joined.size());
    return joined;
  }

  const Source& source_;
  DcpMetadata& metadata_;
  DcpShapes shapes_;
  NodeId map_ = nowhere;  ///< whose pairs were taken
  std::unordered_map<std::string, std::uint32_t, KeyedHash> numbers_;
};

}  // namespace

std::unique_ptr<const DcpMetadata> read_dcp_metadata(const Source& source, DcpShapes shapes) {
  if (source.size() > limits::max_pickle_bytes) {
    throw Error(Status::refused, fmt::format("{}: {} bytes are too many", source.name(), source.size()));
  }
  auto metadata = std::make_unique<DcpMetadata>();
  metadata->text = std::make_shared<const Bytes>(source.read({0, source.size()}));
  MetadataReader reader(source, *metadata, shapes);
  PickleHints hints = source.size() <= most_ahead ? small_objects : PickleHints();
  if (shapes == DcpShapes::skipped) {
    hints.left_unread = {tensor_shapes, planned_writes};
    hints.taker = &reader;
  }
  const auto read = [&] { return read_pickle(metadata->text, source.name(), 0, hints, source.budget()); };
  metadata->pickle = read();
  if (!reader.finish()) {
    reader.start_anew();
    hints.taker = nullptr;
    metadata->pickle = read();
    static_cast<void>(reader.finish());
  }
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

}  // namespace tare
