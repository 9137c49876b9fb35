#include "lib/container/torch/dcp_keys.hpp"

#include <fmt/format.h>

#include "lib/base/error.hpp"

namespace tare {
namespace {

class KeyRemover {
 public:
  KeyRemover(const Tree& tree, const std::set<std::string_view>& keys)
      : tree_(tree), keys_(keys), fields_(tree.fields(tree.root)) {}

  std::vector<NodeChange> run() && {
    remove_from("state_dict_metadata", [&](NodeId key) { return key; });
    remove_from("storage_data", [&](NodeId index) { return tree_.find(tree_.fields(index), "fqn"); });
    const NodeId ways = tree_.find(fields_, "planner_data");
    if (ways != nowhere && tree_.kind(ways) != Kind::none) remove_from("planner_data", [&](NodeId key) { return key; });
    const NodeId plans = tree_.find(fields_, "all_local_plans");
    if (plans != nowhere && tree_.kind(plans) != Kind::none) remove(plans, "plans of an earlier save");
    return std::move(changes_);
  }

 private:
  /// The items of a map that are about a key that goes; `name_of` finds the name in the map's key.
  template <typename NameOf>
  void remove_from(const char* field, const NameOf& name_of) {
    const NodeId map = tree_.find(fields_, field);
    if (map == nowhere || tree_.kind(map) != Kind::map) {
      throw Error(Status::refused, fmt::format("the metadata's {} are no map", field),
                  "tare takes keys out of metadata as torch's own planner writes them");
    }
    const auto pairs = tree_.items(map);
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      const NodeId name = name_of(pairs[i]);
      const bool goes = name != nowhere && tree_.kind(name) == Kind::string && keys_.contains(tree_.text(name));
      if (goes) remove(pairs[i + 1], fmt::format("{} in {}", tree_.text(name), field));
    }
  }

  void remove(NodeId value, std::string meaning) { changes_.push_back({value, Removal(), std::move(meaning)}); }

  const Tree& tree_;
  const std::set<std::string_view>& keys_;
  NodeId fields_;
  std::vector<NodeChange> changes_;
};

}  // namespace

std::vector<NodeChange> without_keys(const DcpMetadata& metadata, const std::set<std::string_view>& keys) {
  return KeyRemover(metadata.pickle.tree, keys).run();
}

}  // namespace tare
