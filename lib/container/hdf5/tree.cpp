#include "lib/container/hdf5/tree.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/container/hdf5/look_ahead.hpp"
#include "lib/hdf5/group.hpp"
#include "lib/tree/path.hpp"

namespace tare {
namespace {

constexpr std::size_t max_links = std::size_t{1} << 20;  ///< between the objects of one file

class TreeReader {
 public:
  explicit TreeReader(Hdf5File& file) : file_(file) { tree_ = Tree(file.source().budget()); }

  Hdf5Tree read(std::uint64_t root) {
    is_own_ = is_own_root(root);
    tree_.root = object(root, "");
    while (!groups_.empty()) {
      const std::vector<Group> level = std::exchange(groups_, {});
      look_ahead_of(level);
      for (const Group& group : level) fill(group);
    }
    return std::move(result_);
  }

 private:
  struct Group {
    NodeId node;
    std::string path;
    Hdf5Header header;
  };

  /// What cannot be read is told where the object is.
  bool is_own_root(std::uint64_t root) {
    try {
      return is_own_state(file_, read_hdf5_header(file_, root));
    } catch (const Hdf5NotRead&) {
      return false;
    }
  }

  /// Far away each group would be waited for.
  void look_ahead_of(const std::vector<Group>& level) const {
    std::vector<const Hdf5Header*> headers;
    for (const Group& group : level) headers.push_back(&group.header);
    look_ahead(file_, headers);
  }

  NodeId opaque() {
    Node node;
    node.kind = Kind::opaque;
    return tree_.add(node);
  }

  NodeId unread(const std::string& path, const std::string& why) {
    file_.warn("object-not-read", why, path);
    return opaque();
  }

  /// The node of the object whose header is at `address`; groups are filled later.
  NodeId object(std::uint64_t address, const std::string& path) {
    if (const auto known = nodes_.find(address); known != nodes_.end()) {
      if (tree_.kind(known->second) == Kind::map) {
        file_.warn("several-links", "this link leads to a group that another one leads to, too", path);
      }
      result_.shared.insert(known->second);
      return known->second;
    }
    NodeId node = nowhere;
    try {
      node = new_object(address, path);
    } catch (const Hdf5NotRead& problem) {
      node = unread(path, problem.why);
    }
    nodes_[address] = node;
    return node;
  }

  NodeId new_object(std::uint64_t address, const std::string& path) {
    Hdf5Header header = read_hdf5_header(file_, address);
    if (is_hdf5_group(header)) {
      const NodeId node = tree_.add_items(Kind::map, {}, {});
      tree_.take_memory(sizeof(Group) + path.size());
      groups_.push_back({node, path, std::move(header)});
      return node;
    }
    if (!is_hdf5_dataset(header)) return unread(path, "neither a group nor a dataset");
    if (is_hdf5_null(header)) return tree_.add(Node{});
    if (const auto text = hdf5_dataset_text(file_, header)) return tree_.add_side_text(Kind::string, *text, {});
    if (is_own_) {
      if (const auto texts = hdf5_dataset_texts(file_, header)) return add_texts(*texts);
      if (is_hdf5_chunked(header)) return add_packed(header, path);
    }
    return add(read_hdf5_dataset(file_, header, read_hdf5_attributes(file_, header, path)));
  }

  NodeId add_texts(const std::vector<std::string>& texts) {
    std::vector<NodeId> nodes;
    for (const std::string& text : texts) nodes.push_back(tree_.add_side_text(Kind::string, text, {}));
    return tree_.add_items(Kind::list, nodes, {});
  }

  NodeId add_packed(const Hdf5Header& header, const std::string& path) {
    Hdf5Dataset dataset = unpacked_hdf5_dataset(file_, header, path);
    tree_.take_memory(dataset.stored.place.size);
    const NodeId node = add(std::move(dataset));
    result_.packed.insert(node);
    return node;
  }

  NodeId add(Hdf5Dataset dataset) {
    const NodeId node = result_.tensors->add(tree_, Kind::tensor, std::move(dataset.stored));
    if (dataset.is_in_header) result_.in_headers[node] = dataset.covered;
    return node;
  }

  void fill(const Group& group) {
    std::vector<NodeId> pairs;
    try {
      for (const Hdf5Link& link : read_hdf5_links(file_, group.header, group.path)) {
        if (++links_ > max_links) {
          throw Error(Status::refused, fmt::format("{}: more than {} links", file_.source().name(), max_links));
        }
        const std::string path = key_path(group.path, link.name);
        tree_.take_steps(path.size());
        pairs.push_back(tree_.add_side_text(Kind::string, link.name, {}));
        pairs.push_back(link.by_name.empty() ? object(link.header, path)
                                             : unread(path, fmt::format("a {}: not followed", link.by_name)));
      }
    } catch (const Hdf5NotRead& problem) {
      file_.warn("object-not-read", problem.why, group.path);
    }
    for (const Hdf5Attribute& attribute : read_hdf5_attributes(file_, group.header, group.path)) {
      pairs.push_back(tree_.add_side_text(Kind::string, "@" + attribute.name, {}));
      pairs.push_back(value_of(attribute, group));
    }
    tree_.append_items(group.node, pairs);
  }

  NodeId value_of(const Hdf5Attribute& attribute, const Group& group) {
    try {
      if (attribute.type.form == Hdf5Type::Form::number) {
        return add(hdf5_attribute_tensor(file_, group.header, attribute));
      }
      const auto texts = hdf5_texts(file_, group.header, attribute);
      if (!texts) return opaque();
      std::vector<NodeId> nodes;
      for (const std::string& text : *texts) nodes.push_back(tree_.add_side_text(Kind::string, text, {}));
      return attribute.shape.empty() ? nodes.front() : tree_.add_items(Kind::list, nodes, {});
    } catch (const Hdf5NotRead& problem) {
      file_.warn("attribute-not-read", fmt::format("{}: {}", attribute.name, problem.why), group.path);
      return opaque();
    }
  }

  Hdf5File& file_;
  Hdf5Tree result_;
  Tree& tree_ = result_.tree;
  std::unordered_map<std::uint64_t, NodeId> nodes_;  ///< by the header's address
  std::vector<Group> groups_;                        ///< of the next level
  std::size_t links_ = 0;
  bool is_own_ = false;
};

}  // namespace

bool is_own_state(Hdf5File& file, const Hdf5Header& root) {
  constexpr std::string_view own = "tare.state";
  for (const Hdf5Attribute& attribute : read_hdf5_attributes(file, root, {})) {
    if (attribute.name != "schema" || attribute.type.form == Hdf5Type::Form::number) continue;
    const auto texts = hdf5_texts(file, root, attribute);
    return texts && texts->size() == 1 && texts->front().starts_with(own);
  }
  return false;
}

Hdf5Tree read_hdf5_tree(Hdf5File& file, std::uint64_t root) {
  return TreeReader(file).read(root);
}

}  // namespace tare
