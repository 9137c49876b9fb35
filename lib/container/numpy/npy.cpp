#include "lib/container/numpy/npy.hpp"

#include <fmt/format.h>

#include <utility>

#include "lib/base/error.hpp"
#include "lib/container/element_patch.hpp"
#include "lib/container/pickle/pickle_file.hpp"

namespace tare {
namespace {

constexpr const char* not_data_type = "its type may hold Python objects, which are a pickle: not read";

class NpyArrays final : public Container {
 public:
  explicit NpyArrays(const std::shared_ptr<const Source>& source) : tree_(source->budget()) {
    std::vector<NodeId> nodes;
    for (std::uint64_t at = 0; at < source->size();) {
      NpyHeader header = read_npy(source, at);
      if (!header.is_data)
        not_judged_.push_back({fmt::format("the array at offset {}", at), nullptr, nullptr, not_data_type});
      at = header.array.place.end();
      nodes.push_back(arrays_->add(tree_, Kind::array, std::move(header.array)));
    }
    is_stream_ = nodes.size() > 1;
    tree_.root = is_stream_ ? tree_.add_items(Kind::list, nodes, {}) : nodes.front();
    StoredTensors::install(arrays_, tree_);
    if (!is_stream_) return;
    findings_.push_back({Severity::note,
                         "arrays-without-names",
                         fmt::format("{} arrays one behind the other, without names (as equinox writes them): nothing "
                                     "says which of them is a scale",
                                     nodes.size()),
                         {},
                         {}});
  }

  [[nodiscard]] std::string_view format() const override { return is_stream_ ? "npy_stream" : "npy"; }
  [[nodiscard]] const Tree& tree() const override { return tree_; }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return findings_; }
  [[nodiscard]] std::vector<InnerDocument> inner_documents() const override { return not_judged_; }
  [[nodiscard]] FileChange change(std::span<const NodeChange> changes) const override {
    FileChange all;
    for (const NodeChange& change : changes) {
      all.patches.push_back(element_patch(arrays_->at(change.node), change));
    }
    return all;
  }

 private:
  Tree tree_;
  std::shared_ptr<StoredTensors> arrays_ = std::make_shared<StoredTensors>();
  std::vector<Finding> findings_;
  std::vector<InnerDocument> not_judged_;
  bool is_stream_ = false;
};

/// What an array of objects holds: its state is (version, shape, type, order, list of the elements). The element itself
/// where there is one without dimensions.
NodeId elements_of(const Tree& tree, NodeId array) {
  constexpr std::size_t shape_part = 1;
  constexpr std::size_t elements_part = 4;
  const NodeId state = tree.kind(array) == Kind::array ? tree.state(array) : nowhere;
  const auto parts = tree.items(state);
  if (parts.size() <= elements_part || tree.kind(parts[elements_part]) != Kind::list) return array;
  const auto elements = tree.items(parts[elements_part]);
  return tree.items(parts[shape_part]).empty() && elements.size() == 1 ? elements.front() : parts[elements_part];
}

}  // namespace

std::unique_ptr<Container> open_npy_objects(const std::shared_ptr<const Source>& source, const NpyHeader& header) {
  return open_pickle_behind(source, header.array.place.offset, "npy", elements_of);
}

std::unique_ptr<Container> open_npy(const std::shared_ptr<const Source>& source) {
  const NpyHeader header = read_npy(source);
  if (header.is_object) return open_npy_objects(source, header);
  return std::make_unique<NpyArrays>(source);
}

}  // namespace tare
