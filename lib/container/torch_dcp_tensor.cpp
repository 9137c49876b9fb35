#include "lib/container/torch_dcp_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/held_tensors.hpp"
#include "lib/container/pickle_patch.hpp"

namespace tare {
namespace {

constexpr std::uint64_t length_size = 8;  // of the header's own size

class StoredElements final : public TensorReader {
 public:
  StoredElements(std::shared_ptr<const Source> image, SafetensorsEntry entry)
      : image_(std::move(image)), entry_(std::move(entry)) {}

  [[nodiscard]] Tensor describe(NodeId) const override {
    Tensor tensor;
    tensor.library = "tensor";
    tensor.type = entry_.type;
    tensor.shape = entry_.shape;
    tensor.device = "cpu";
    return tensor;
  }
  [[nodiscard]] Bytes elements(NodeId node) const override {
    const std::uint64_t size = describe(node).count() * entry_.type.size;
    if (size != entry_.place.size || size > limits::max_tensor_read_bytes) {
      throw Error(Status::corrupt, fmt::format("{}: {} has {} bytes, and not those that its shape says", image_->name(),
                                               entry_.name, entry_.place.size));
    }
    return image_->read(entry_.place);
  }

 private:
  std::shared_ptr<const Source> image_;
  SafetensorsEntry entry_;
};

class ImageTensor final : public Container {
 public:
  ImageTensor(std::shared_ptr<const Source> image, const SafetensorsEntry& entry)
      : image_(std::move(image)), place_(entry.place) {
    Node node;
    node.kind = Kind::tensor;
    tree_.root = tree_.add(node);
    tree_.install(std::make_shared<StoredElements>(image_, entry));
  }

  [[nodiscard]] std::string_view format() const override { return "safetensors"; }
  [[nodiscard]] const Tree& tree() const override { return tree_; }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return findings_; }
  [[nodiscard]] FileChange change(std::span<const NodeChange> changes) const override {
    FileChange change;
    for (const NodeChange& wanted : changes) {
      const Bytes after = changed_element(tree_.tensor(wanted.node), wanted);
      change.patches = differing_runs(image_->read(place_), after, place_.offset, wanted.meaning);
    }
    return change;
  }

 private:
  std::shared_ptr<const Source> image_;
  Span place_;
  Tree tree_;
  std::vector<Finding> findings_;
};

}  // namespace

bool has_safetensors_at(const Source& file, std::uint64_t offset) {
  if (offset >= file.size()) return false;
  const std::uint64_t left = file.size() - offset;
  const Bytes head = file.read(Span{offset, std::min(left, length_size + 2)});
  return head.size() == length_size + 2 && load_le<std::uint64_t>(head.data()) <= left - length_size &&
         as_text(ByteView(head).subspan(length_size)) == "{\"";
}

std::unique_ptr<Container> open_image_tensor(const std::shared_ptr<const Source>& image,
                                             const std::vector<SafetensorsEntry>& entries, std::string_view name) {
  const auto entry =
      std::find_if(entries.begin(), entries.end(), [&](const SafetensorsEntry& e) { return e.name == name; });
  if (entry == entries.end()) {
    throw Error(Status::corrupt, fmt::format("{}: its image holds no tensor {}", image->name(), name),
                "the metadata and the file do not belong together");
  }
  return std::make_unique<ImageTensor>(image, *entry);
}

}  // namespace tare
