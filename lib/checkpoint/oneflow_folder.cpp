#include "lib/checkpoint/oneflow_folder.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/container/oneflow/variable.hpp"
#include "lib/container/pickle/pickle_file.hpp"
#include "lib/dialect/frameworks/oneflow.hpp"
#include "lib/dialect/walk.hpp"

namespace tare {
namespace {

constexpr std::string_view done_name = "snapshot_done";
constexpr std::string_view pickle_name = "pickled_data";

/// A variable, and the folder that it lies in.
struct Stored {
  std::string name;
  std::string folder;
};

std::unique_ptr<Container> open_stored(const SourceFolder& folder, const std::string& whole,
                                       const std::vector<Stored>& stored) {
  std::vector<std::string> parts = {whole};
  std::vector<FileVariable> variables;
  for (const Stored& one : stored) {
    variables.push_back(read_oneflow_variable(folder, one.folder));
    variables.back().key = one.name;
    variables.back().part = parts.size();
    parts.insert(parts.end(), {oneflow_elements_of(one.folder), oneflow_description_of(one.folder)});
  }
  return open_file_variables("oneflow_variables", std::move(variables), std::move(parts));
}

/// The folder that a pickled tensor names: its state is {"path": name}.
std::optional<std::string> folder_of(const Tree& tree, NodeId value) {
  const NodeId path = tree.kind(value) == Kind::map ? nowhere : tree.find(tree.fields(value), "path");
  if (path == nowhere || tree.kind(path) != Kind::string) return std::nullopt;
  return std::string(tree.text(path));
}

std::vector<Stored> stored_in(const Tree& tree) {
  std::vector<Stored> stored;
  TreeWalk walk(tree);
  while (walk.next()) {
    const NodeId map = walk.step(walk.current()).node;
    if (tree.kind(map) != Kind::map) continue;
    const auto pairs = tree.items(map);
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      if (tree.kind(pairs[i]) != Kind::string || !is_oneflow_variable(tree.text(pairs[i]))) continue;
      if (auto folder = folder_of(tree, pairs[i + 1])) stored.push_back({std::string(tree.text(pairs[i])), *folder});
    }
  }
  return stored;
}

/// The pickle, with the variables that it names in its tree's stead where those of a loss scale are among them.
class OneFlowPickle final : public Container {
 public:
  OneFlowPickle(const SourceFolder& folder, const std::string& name)
      : pickle_(open_pickle_file(folder.open(name))), parts_({name}) {
    const std::vector<Stored> stored = stored_in(pickle_->tree());
    if (!stored.empty()) variables_ = open_stored(folder, name, stored);
  }

  [[nodiscard]] std::string_view format() const override { return shown().format(); }
  [[nodiscard]] const Tree& tree() const override { return shown().tree(); }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return pickle_->findings(); }
  [[nodiscard]] std::vector<GlobalName> globals() const override { return pickle_->globals(); }
  [[nodiscard]] std::vector<InnerDocument> inner_documents() const override { return pickle_->inner_documents(); }
  [[nodiscard]] std::span<const std::string> parts() const override {
    return variables_ == nullptr ? std::span<const std::string>(parts_) : variables_->parts();
  }
  [[nodiscard]] std::size_t part_of(NodeId node) const override { return shown().part_of(node); }
  [[nodiscard]] std::vector<PartChange> change_parts(std::span<const NodeChange> changes) const override {
    return shown().change_parts(changes);
  }

 private:
  [[nodiscard]] const Container& shown() const { return variables_ == nullptr ? *pickle_ : *variables_; }

  std::unique_ptr<Container> pickle_;
  std::unique_ptr<Container> variables_;  ///< null: the pickle names none
  std::vector<std::string> parts_;
};

}  // namespace

bool is_oneflow_whole(std::string_view file_name) {
  return file_name == done_name || file_name == pickle_name;
}

bool is_oneflow_part(std::string_view) {
  return false;
}

std::vector<std::string> oneflow_wholes_of(std::string_view) {
  return {};
}

OpenedWhole open_oneflow_folder(const std::shared_ptr<const SourceFolder>& folder, const std::string& whole) {
  OpenedWhole opened;
  opened.contents = "variables of OneFlow";
  if (whole == pickle_name) {
    opened.container = std::make_unique<OneFlowPickle>(*folder, whole);
    return opened;
  }
  std::vector<Stored> stored;
  for (const std::string& name : folder->folders()) {
    if (is_oneflow_variable(name)) stored.push_back({name, name});
  }
  opened.container = open_stored(*folder, whole, stored);
  return opened;
}

}  // namespace tare
