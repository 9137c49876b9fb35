#include "lib/container/safetensors/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/distant_source.hpp"
#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/file_change.hpp"
#include "lib/container/nested.hpp"
#include "lib/container/nested_keys.hpp"
#include "lib/container/node_change.hpp"
#include "lib/container/safetensors/layout.hpp"
#include "lib/container/safetensors/mindspore_checksum.hpp"
#include "lib/json/lexer.hpp"
#include "lib/tree/reads_ahead.hpp"

namespace tare {
namespace {

constexpr const char* damaged = "the file is damaged, or was never written to its end: take another copy";

void require_gapless(std::vector<Span> places, Span data, const std::string& name) {
  std::sort(places.begin(), places.end(), [](Span a, Span b) {
    return a.offset != b.offset ? a.offset < b.offset : a.size < b.size;  // empty tensors first
  });
  std::uint64_t at = data.offset;
  for (const Span place : places) {
    if (place.offset != at) {
      throw Error(Status::corrupt,
                  fmt::format("{}: a tensor starts at offset {}, the one before it ends at {}", name, place.offset, at),
                  damaged);
    }
    at = place.end();
  }
  if (at == data.end()) return;
  throw Error(Status::corrupt, fmt::format("{}: {} bytes stand behind the last tensor", name, data.end() - at),
              damaged);
}

class Safetensors final : public Container {
 public:
  explicit Safetensors(std::shared_ptr<const Source> image, SafetensorsHeader header)
      : image_(std::move(image)), header_(std::move(header)) {}

  /// The tree of one tensor alone.
  void plant_tensor() {
    is_part_ = true;
    tree_.root = add_tensor(0);
    install();
  }
  /// The tree of all, by their names.
  void plant() {
    NestedKeys keys(tree_);
    for (std::size_t i = 0; i < header_.entries.size(); ++i) keys.add(header_.name(header_.entries[i]), add_tensor(i));
    if (!header_.metadata.empty()) keys.add("__metadata__", add_metadata());
    tree_.root = keys.write();
    install();
    if (!has_checksum()) {
      header_.names.reset();  // the tree has them
      return;
    }
    if (mindspore_checksum_holds(*image_, header_)) return;
    findings_.push_back({Severity::warning,
                         "crc-mismatch",
                         "crc_num is not the checksum of its tensors: MindSpore refuses it with crc_check=True",
                         {},
                         {}});
  }

  [[nodiscard]] std::string_view format() const override { return "safetensors"; }
  [[nodiscard]] const Tree& tree() const override { return tree_; }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return findings_; }
  [[nodiscard]] FileChange change(std::span<const NodeChange> all) const override;

 private:
  class Reader final : public TensorReader, public ReadsAhead {
   public:
    explicit Reader(const Safetensors& whole) : whole_(whole) {}
    [[nodiscard]] Tensor describe(NodeId node) const override;
    [[nodiscard]] Bytes elements(NodeId node) const override;
    [[nodiscard]] bool is_far() const override { return is_distant(*whole_.image_); }
    void read_ahead(std::span<const NodeId> nodes) const override;
    [[nodiscard]] std::shared_ptr<const Tree> open(NodeId node) const override {
      return open_nested_tree(whole_.tree_, node, whole_.image_->name());
    }

   private:
    const Safetensors& whole_;
  };

  NodeId add_tensor(std::size_t entry) {
    Node node;
    node.kind = Kind::tensor;
    node.as.integer = static_cast<std::int64_t>(entry);
    return tree_.add(node);
  }
  NodeId add_metadata() {
    std::vector<NodeId> pairs;
    for (const auto& [key, value] : header_.metadata) {
      pairs.push_back(tree_.add_side_text(Kind::string, key, {}));
      pairs.push_back(tree_.add_side_text(Kind::string, value, {}));
    }
    return tree_.add_items(Kind::map, pairs, {});
  }
  void install() { tree_.install(std::make_shared<Reader>(*this)); }
  [[nodiscard]] const SafetensorsEntry& entry(NodeId node) const {
    return header_.entries[static_cast<std::size_t>(tree_[node].as.integer)];
  }
  [[nodiscard]] Bytes read_whole(const SafetensorsEntry& entry) const;
  [[nodiscard]] std::string name_of(const SafetensorsEntry& entry) const;
  [[nodiscard]] bool changes_size(const NodeChange& wanted) const;
  /// Tensors that change their size, or go.
  [[nodiscard]] FileChange relay(std::span<const NodeChange> changes) const;
  [[nodiscard]] bool has_checksum() const { return !mindspore_checksum(header_).empty(); }

  std::shared_ptr<const Source> image_;
  SafetensorsHeader header_;
  bool is_part_ = false;  ///< one tensor of an item, among others that are not known here
  Tree tree_{image_->budget()};
  std::vector<Finding> findings_;
};

Tensor Safetensors::Reader::describe(NodeId node) const {
  const SafetensorsEntry& entry = whole_.entry(node);
  Tensor tensor;
  tensor.library = "tensor";
  tensor.type = entry.type();
  const auto shape = whole_.header_.shape(entry);
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.device = "cpu";
  return tensor;
}

Bytes Safetensors::Reader::elements(NodeId node) const {
  return whole_.read_whole(whole_.entry(node));
}

void Safetensors::Reader::read_ahead(std::span<const NodeId> nodes) const {
  std::vector<Span> places;
  for (const NodeId node : nodes) {
    if (whole_.tree_.kind(node) == Kind::tensor) places.push_back(whole_.entry(node).place);
  }
  std::erase_if(places, [](Span place) { return place.size > most_bytes_ahead; });
  fetch_ahead(*whole_.image_, std::move(places));
}

std::string Safetensors::name_of(const SafetensorsEntry& entry) const {
  const Bytes member = image_->read(entry.member());
  std::string decoded;
  return std::string(JsonLexer(as_text(member), image_->name()).string(decoded));
}

Bytes Safetensors::read_whole(const SafetensorsEntry& entry) const {
  if (entry.place.size > limits::max_tensor_read_bytes) {
    throw Error(Status::refused, fmt::format("{}: {}: a tensor of {} bytes is not read", image_->name(), name_of(entry),
                                             entry.place.size));
  }
  return image_->read(entry.place);
}

bool Safetensors::changes_size(const NodeChange& wanted) const {
  const auto* contents = std::get_if<NewContents>(&wanted.value);
  return std::holds_alternative<Removal>(wanted.value) ||
         (contents != nullptr && contents->bytes.size() != entry(wanted.node).place.size);
}

FileChange Safetensors::relay(std::span<const NodeChange> changes) const {
  NewTensors anew;
  for (const NodeChange& wanted : changes) {
    const auto refuse = [&](const char* problem) { throw Error(Status::refused, wanted.meaning + problem); };
    if (tree_.kind(wanted.node) != Kind::tensor) refuse(": is no tensor of the file");
    if (is_part_) refuse(": stands among other tensors of an item, and keeps its size");
    if (has_checksum()) refuse(": MindSpore's checksum is of tensors that keep their size");
    std::optional<Bytes>& bytes = anew[static_cast<std::size_t>(tree_[wanted.node].as.integer)];
    if (const auto* contents = std::get_if<NewContents>(&wanted.value)) {
      const SafetensorsEntry& tensor = entry(wanted.node);
      if (tensor.shape.count != 1 || tensor.type().size != 1) refuse(": is no row of bytes");
      bytes.emplace(contents->bytes.begin(), contents->bytes.end());
    } else if (!std::holds_alternative<Removal>(wanted.value)) {
      refuse(": changes beside tensors that change their size: edit them one after the other");
    }
  }
  return relaid(*image_, header_, anew, joined_meaning(changes));
}

FileChange Safetensors::change(std::span<const NodeChange> all) const {
  const std::vector<NodeChange> changes = without_nesting(tree_, all, image_->name());
  if (std::any_of(changes.begin(), changes.end(), [&](const NodeChange& c) { return changes_size(c); })) {
    return relay(changes);
  }
  FileChange change;
  const auto patch = [&](std::uint64_t offset, ByteView after, const std::string& meaning) {
    auto runs = differing_runs(image_->read({offset, after.size()}), after, offset, meaning);
    std::move(runs.begin(), runs.end(), std::back_inserter(change.patches));
  };
  for (const NodeChange& wanted : changes) {
    if (tree_.kind(wanted.node) != Kind::tensor) {
      throw Error(Status::refused, wanted.meaning + ": is no tensor of the file");
    }
    const SafetensorsEntry& tensor = entry(wanted.node);
    if (const auto* contents = std::get_if<NewContents>(&wanted.value)) {
      patch(tensor.place.offset, contents->bytes, wanted.meaning);
      continue;
    }
    for (const NewElement& element : elements_of(wanted, tree_.tensor(wanted.node))) {
      const Bytes bytes = element_bytes(tensor.type(), element, std::endian::little);
      for_each_index(element, [&](std::uint64_t index) {
        patch(tensor.place.offset + index * tensor.type().size, bytes, wanted.meaning);
      });
    }
  }
  if (has_checksum()) change.patches.push_back(mindspore_checksum_patch(image_, header_, change.patches));
  return change;
}

/// Whether an object starts behind the length: its first name, or its end. Its maker may have indented it.
bool starts_with_object(ByteView head) {
  if (head.size() < safetensors_length_size + 2) return false;
  const std::string_view json = as_text(head.subspan(safetensors_length_size));
  if (json.front() != '{') return false;
  const std::size_t next = json.find_first_not_of(" \t\r\n", 1);
  return next != json.npos && (json[next] == '"' || json[next] == '}');
}

}  // namespace

bool starts_like_safetensors(ByteView head) {
  return starts_with_object(head) && load_le<std::uint64_t>(head.data()) <= limits::max_safetensors_header_bytes;
}

bool starts_like_safetensors(const Source& source, ByteView head) {
  return starts_with_object(head) && load_le<std::uint64_t>(head.data()) <= source.size() - safetensors_length_size;
}

std::unique_ptr<Container> open_safetensors(const std::shared_ptr<const Source>& source) {
  SafetensorsHeader header = read_safetensors_header(*source);
  std::vector<Span> places;
  places.reserve(header.entries.size());
  for (const SafetensorsEntry& entry : header.entries) places.push_back(entry.place);
  require_gapless(std::move(places), header.data, source->name());
  auto opened = std::make_unique<Safetensors>(source, std::move(header));
  opened->plant();
  return opened;
}

std::unique_ptr<Container> open_safetensors_tensor(const std::shared_ptr<const Source>& image,
                                                   SafetensorsHeader header) {
  auto opened = std::make_unique<Safetensors>(image, std::move(header));
  opened->plant_tensor();
  return opened;
}

}  // namespace tare
