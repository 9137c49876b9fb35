#include "lib/container/orbax/ocdbt_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/base/limits.hpp"

namespace tare {
namespace {

/// All nodes together. Those of a checkpoint of 100,000 arrays take 30 MiB.
constexpr std::uint64_t most_tree_bytes = limits::max_pickle_bytes / 4;
constexpr std::uint64_t longest_key = limits::max_zip_name_bytes;
constexpr std::uint64_t in_leaf = 0, outside = 1;  // how a value is stored

}  // namespace

class OcdbtTree::Reader {
 public:
  explicit Reader(OcdbtTree& tree) : tree_(tree) {}

  void read() {
    const OcdbtVersion& version = tree_.manifest_.versions.back();
    if (version.root.size == 0) return;
    Node root;
    root.file = tree_.manifest_.files[version.file];
    root.place = version.root;
    root.height = version.height;
    root.tree_bytes = version.tree_bytes;
    add(std::move(root));
    for (std::size_t i = 0; i < tree_.nodes_.size(); ++i) read_node(i);
  }

 private:
  static constexpr std::size_t bytes_an_entry = sizeof(Entry) + 64;
  static constexpr std::size_t names_a_key = 3;  ///< with what is made of them: lists, arrays

  void add(Node node) {
    // Heights fall on every way down, so no node leads back to itself. One that two lead to could double at every
    // level, and would change in two places at once.
    if (!places_.insert({node.file.path, node.place.offset}).second) {
      throw Error(Status::unsupported, fmt::format("{}: OCDBT: two ways lead to one node", tree_.name_),
                  "save the checkpoint again with Orbax, which gives each its own");
    }
    budget().take_memory(2 * sizeof(Node) + 3 * node.file.path.size() + 2 * node.prefix.size());
    tree_.nodes_.push_back(std::move(node));
  }

  [[nodiscard]] Budget& budget() const { return *tree_.folder_->budget(); }

  [[noreturn]] void fail(const std::string& file, const std::string& problem) const {
    throw Error(Status::corrupt, fmt::format("{}: OCDBT, {}: {}", tree_.name_, file, problem),
                "the file is damaged; take another copy");
  }

  [[nodiscard]] Bytes body_of(const Node& node) {
    const auto file = tree_.folder_->open(node.file.path);
    if (node.place.offset > file->size() || node.place.size > file->size() - node.place.offset ||
        node.place.size > most_tree_bytes - read_) {
      fail(node.file.path, fmt::format("a node of {} bytes at offset {}", node.place.size, node.place.offset));
    }
    budget().take_document(node.place.size);
    Bytes body =
        ocdbt_body(file->read(node.place), ocdbt_node_magic, most_tree_bytes - read_, node.file.path, budget());
    budget().take_memory(body.size());
    read_ += body.size();
    return body;
  }

  void read_node(std::size_t number) {
    tree_.nodes_[number].body = body_of(tree_.nodes_[number]);
    const Node node = tree_.nodes_[number];                                     // a copy: nodes below are added
    Budget scratch(node.file.path, node.body.size(), tree_.folder_->budget());  // given back behind the node
    OcdbtColumns columns(node.body, node.file.path, scratch);
    if (columns.byte() != node.height) columns.fail("a node of another height");
    const auto files = ocdbt_files(columns, node.file.base);
    const std::uint64_t rows = columns.rows();
    if (rows == 0) columns.fail("a node without entries");
    node.height == 0 ? read_leaf(number, node, columns, files, rows)
                     : read_interior(number, node, columns, files, rows);
  }

  /// The keys of a node, in full: how much each shares with the one before, and has of its own, stands before.
  std::vector<std::string> take_keys(const Node& node, OcdbtColumns& columns,
                                     const std::vector<OcdbtColumns::Number>& shared,
                                     const std::vector<OcdbtColumns::Number>& own) {
    std::vector<std::string> keys;
    std::string key;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::uint64_t kept = i == 0 ? 0 : shared[i - 1].value;
      if (kept > key.size()) columns.fail("a key that shares more than there is");
      key.resize(kept);
      key += as_text(columns.bytes(columns.run(own[i].value)));
      if (node.prefix.size() + key.size() > longest_key) columns.fail("a key that is too long");
      keys.push_back(node.prefix + key);
      columns.budget().take_memory(sizeof key + keys.back().size());
    }
    return keys;
  }

  const OcdbtFile& file_of(const OcdbtColumns& columns, const std::vector<OcdbtFile>& files, std::uint64_t number) {
    if (number >= files.size()) columns.fail("a file that is not named");
    return files[number];
  }

  void read_interior(std::size_t number, const Node& node, OcdbtColumns& columns, const std::vector<OcdbtFile>& files,
                     std::uint64_t rows) {
    const auto shared = columns.column(rows - 1);
    const auto own = columns.column(rows);
    const auto prefixes = columns.column(rows);
    const auto keys = take_keys(node, columns, shared, own);
    const auto file = columns.column(rows);
    const auto offset = columns.column(rows);
    const auto size = columns.column(rows);
    columns.column(rows);  // how many keys
    const auto bytes = columns.column(rows);
    for (std::uint64_t i = 0; i < rows; ++i) {
      const std::uint64_t prefix = node.prefix.size() + prefixes[i].value;
      if (prefixes[i].value > keys[i].size() || prefix > keys[i].size()) columns.fail("a prefix longer than its key");
      Node child;
      child.file = file_of(columns, files, file[i].value);
      child.place = {offset[i].value, size[i].value};
      child.height = node.height - 1;
      child.prefix = keys[i].substr(0, prefix);
      child.parent = number;
      child.offset_field = offset[i].place;
      child.size_field = size[i].place;
      child.bytes_field = bytes[i].place;
      child.tree_bytes = bytes[i].value;
      add(std::move(child));
    }
  }

  void read_leaf(std::size_t number, const Node& node, OcdbtColumns& columns, const std::vector<OcdbtFile>& files,
                 std::uint64_t rows) {
    const auto shared = columns.column(rows - 1);
    const auto own = columns.column(rows);
    const auto keys = take_keys(node, columns, shared, own);
    const auto size = columns.column(rows);
    std::vector<std::uint64_t> kind;
    for (std::uint64_t i = 0; i < rows; ++i) kind.push_back(columns.byte());
    const auto is_unknown = [](std::uint64_t k) { return k != in_leaf && k != outside; };
    if (std::any_of(kind.begin(), kind.end(), is_unknown)) columns.fail("a value of no known kind");
    const auto count = static_cast<std::uint64_t>(std::count(kind.begin(), kind.end(), outside));
    const auto file = columns.column(count);
    const auto offset = columns.column(count);
    std::size_t outer = 0;
    for (std::uint64_t i = 0; i < rows; ++i) {
      budget().take_memory(bytes_an_entry + names_a_key * keys[i].size());
      Entry entry{number, size[i].place, {}, {}, {}};
      if (kind[i] == in_leaf) {
        entry.value = columns.run(size[i].value);
      } else {
        entry.file = file_of(columns, files, file[outer].value).path;
        budget().take_memory(entry.file.size());
        entry.value = {offset[outer].value, size[i].value};
        entry.offset_field = offset[outer].place;
        ++outer;
      }
      if (!tree_.entries_.emplace(keys[i], std::move(entry)).second) columns.fail("a key that is there twice");
    }
  }

  OcdbtTree& tree_;
  std::set<std::pair<std::string, std::uint64_t>> places_;
  std::uint64_t read_ = 0;
};

OcdbtTree::OcdbtTree(std::shared_ptr<const SourceFolder> folder, const OcdbtManifest& manifest, const std::string& name)
    : name_(name), folder_(std::move(folder)), manifest_(manifest) {
  Reader(*this).read();
}

std::vector<std::string> OcdbtTree::keys() const {
  std::vector<std::string> keys;
  keys.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) keys.push_back(key);
  return keys;
}

Bytes OcdbtTree::value(const std::string& key) const {
  const Entry& entry = entries_.at(key);
  if (!entry.file.empty()) return folder_->open(entry.file)->read(entry.value);
  const ByteView value = ByteView(nodes_[entry.node].body).subspan(entry.value.offset, entry.value.size);
  return {value.begin(), value.end()};
}

std::vector<std::string> OcdbtTree::node_files() const {
  std::vector<std::string> files;
  std::unordered_set<std::string_view, KeyedHash> known;
  for (const Node& node : nodes_) {
    if (known.insert(node.file.path).second) files.push_back(node.file.path);
  }
  return files;
}

// A commit writes no byte that the version before it leads to. Data files are logs of nodes, found by place alone: what
// is new goes behind their ends, and only the manifest, which is changed last and as a whole, leads there. So a crash
// at any point leaves a manifest and all that it names.
//
// Nodes stand in the order in which they were read, each behind its parent. Going through them from behind, a node is
// written when all of its children were, so that its splices are complete: the new place and size of each child that
// changed, and how many bytes its subtree takes. What did not change keeps its place, in the new tree too. `grown`
// counts the growth of a subtree modulo 2^64, which comes out right however the parts shrink and grow.
OcdbtCommit OcdbtTree::commit(const std::vector<OcdbtChange>& changes, std::uint64_t commit_time) const {
  OcdbtCommit commit;
  const auto add = [&](const std::string& file, const Bytes& bytes) {
    Bytes& added = commit.added[file];
    const Span place{folder_->open(file)->size() + added.size(), bytes.size()};
    added.insert(added.end(), bytes.begin(), bytes.end());
    return place;
  };
  std::vector<std::vector<OcdbtSplice>> splices(nodes_.size());
  for (const OcdbtChange& change : changes) {
    const Entry& entry = entries_.at(change.key);
    auto& leaf = splices[entry.node];
    if (entry.file.empty()) {
      leaf.push_back({entry.value, change.value});
    } else {
      leaf.push_back(number_splice(entry.offset_field, add(entry.file, change.value).offset));
    }
    if (change.value.size() != entry.value.size) leaf.push_back(number_splice(entry.size_field, change.value.size()));
  }
  OcdbtVersion version = manifest_.versions.back();
  std::vector<std::uint64_t> grown(nodes_.size());  // what a node and those below it take more; may wrap
  for (std::size_t i = nodes_.size(); i-- > 0;) {   // from below
    if (splices[i].empty()) continue;
    const Node& node = nodes_[i];
    const Bytes envelope =
        ocdbt_envelope(ocdbt_node_magic, spliced(node.body, std::move(splices[i])), manifest_.zstd_level);
    const Span place = add(node.file.path, envelope);
    grown[i] += place.size - node.place.size;
    if (i == 0) {
      version.root = place;
      version.tree_bytes += grown[0];
      continue;
    }
    grown[node.parent] += grown[i];
    auto& parent = splices[node.parent];
    parent.push_back(number_splice(node.offset_field, place.offset));
    parent.push_back(number_splice(node.size_field, place.size));
    parent.push_back(number_splice(node.bytes_field, node.tree_bytes + grown[i]));
  }
  ++version.generation;
  version.commit_time = commit_time;
  commit.manifest = with_version(manifest_, version);
  return commit;
}

}  // namespace tare
