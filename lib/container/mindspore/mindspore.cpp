#include "lib/container/mindspore/mindspore.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "lib/base/crc32.hpp"
#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/element_patch.hpp"
#include "lib/container/mindspore/records.hpp"
#include "lib/container/nested_keys.hpp"
#include "lib/container/varint.hpp"

namespace tare {
namespace {

constexpr std::byte field_1{0x0a};  ///< of bytes: the record, and in it the parameter's name
constexpr std::byte field_2{0x12};  ///< of bytes: the tensor
constexpr std::string_view text_type = "str";
/// Of larger files the checksum is not verified: that would read every tensor.
constexpr std::uint64_t most_verified = std::uint64_t{1} << 20;

/// The length of a field of bytes with that tag; nothing where another field stands there.
std::optional<std::uint64_t> field(ByteView& from, std::byte tag) {
  if (from.empty() || from[0] != tag) return std::nullopt;
  from = from.subspan(1);
  return take_varint(from);
}

/// Reads the slices of parameters; a node's number of the parameter is its integer.
class MindsporeTensors final : public TensorReader {
 public:
  MindsporeTensors(const Tree& tree, const Source& source, const std::vector<MindsporeParameter>& parameters)
      : tree_(tree), source_(source), parameters_(parameters) {}

  [[nodiscard]] const MindsporeParameter& parameter(NodeId node) const {
    return parameters_[static_cast<std::size_t>(tree_[node].as.integer)];
  }

  [[nodiscard]] Tensor describe(NodeId node) const override { return described(parameter(node)); }

  [[nodiscard]] Bytes elements(NodeId node) const override { return joined(parameter(node)); }

  [[nodiscard]] Bytes joined(const MindsporeParameter& stored) const {
    Bytes bytes;
    for (const Span& slice : stored.slices) {
      if (bytes.size() + slice.size > limits::max_tensor_read_bytes) {
        throw Error(Status::refused, fmt::format("{}: {} is too large to be read", source_.name(), stored.name));
      }
      const Bytes part = source_.read(slice);
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
    return bytes;
  }

 private:
  const Tree& tree_;
  const Source& source_;
  const std::vector<MindsporeParameter>& parameters_;
};

/// numpy's fixed-width text: four bytes a character, filled up with zeros.
std::optional<std::string> decode_utf32(ByteView bytes) {
  std::string text;
  for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    const auto character = load_le<std::uint32_t>(bytes.data() + at);
    if (character == 0) break;
    if (character > 0x10ffff) return std::nullopt;
    // UTF-8: the first byte says by its leading ones how many follow with six bits each.
    const int more = character < 0x80 ? 0 : character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    constexpr std::array<std::uint32_t, 4> leads = {0x00, 0xc0, 0xe0, 0xf0};
    text += static_cast<char>(leads[static_cast<std::size_t>(more)] | character >> 6 * more);
    for (int i = more; i-- > 0;) text += static_cast<char>(0x80 | (character >> 6 * i & 0x3f));
  }
  return text;
}

class Mindspore final : public Container {
 public:
  explicit Mindspore(std::shared_ptr<const Source> source)
      : source_(std::move(source)),
        records_(read_mindspore_records(*source_)),
        tensors_(std::make_shared<MindsporeTensors>(tree_, *source_, records_.parameters)) {
    tree_.install(tensors_);
    NestedKeys keys(tree_);
    for (std::size_t i = 0; i < records_.parameters.size(); ++i) {
      keys.add(records_.parameters[i].name, add_parameter(i));
    }
    tree_.root = keys.write();
    if (records_.checksum && source_->size() <= most_verified) verify(*records_.checksum);
  }

  [[nodiscard]] std::string_view format() const override { return "mindspore"; }
  [[nodiscard]] const Tree& tree() const override { return tree_; }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return findings_; }

  [[nodiscard]] FileChange change(std::span<const NodeChange> changes) const override {
    FileChange change;
    for (const NodeChange& wanted : changes) change.patches.push_back(patch(wanted));
    if (records_.checksum) change.patches.push_back(new_checksum(*records_.checksum, change.patches));
    return change;
  }

 private:
  NodeId add_parameter(std::size_t number) {
    const MindsporeParameter& parameter = records_.parameters[number];
    if (parameter.type.empty())
      return tree_.add_items(Kind::opaque, std::array<NodeId, 4>{nowhere, nowhere, nowhere, nowhere}, {});
    if (parameter.type == text_type) {
      const auto text = decode_utf32(tensors_->joined(parameter));
      if (text) return tree_.add_side_text(Kind::string, *text, {});
    }
    Node node;
    node.kind = Kind::tensor;
    node.as.integer = static_cast<std::int64_t>(number);
    return tree_.add(node);
  }

  [[nodiscard]] Patch patch(const NodeChange& wanted) const {
    if (tree_.kind(wanted.node) != Kind::tensor) {
      throw Error(Status::refused, wanted.meaning + ": the parameter holds no number");
    }
    const Span place = tensors_->parameter(wanted.node).slices.front();
    return element_patch({tensors_->describe(wanted.node), source_, place}, wanted);
  }

  void verify(Span place) {
    const Bytes stored = source_->read(place);
    const Bytes covered = source_->read({0, place.offset - mindspore_checksum_word.size()});
    Bytes wanted(stored.size());
    store(wanted.data() + wanted.size() - sizeof(std::uint32_t), crc32(covered), std::endian::big);
    if (stored == wanted) return;
    findings_.push_back({Severity::warning,
                         "crc-mismatch",
                         "the checksum at its end is not that of its bytes: MindSpore refuses it with crc_check=True",
                         {},
                         {}});
  }

  /// Follows from the old one by algebra: nothing is read again, and a file that did not check out still does not.
  [[nodiscard]] Patch new_checksum(Span place, std::span<const Patch> patches) const {
    const Bytes before = source_->read(place);
    constexpr std::size_t size = sizeof(std::uint32_t);
    const auto number = before.end() - size;
    if (std::any_of(before.begin(), number, [](std::byte b) { return b != std::byte{0}; })) {
      throw Error(Status::corrupt, source_->name() + ": the checksum at its end is larger than any CRC-32",
                  "the file is damaged: take another copy");
    }
    auto crc = load<std::uint32_t>(&*number, std::endian::big);
    const std::uint64_t end = place.offset - mindspore_checksum_word.size();
    for (const Patch& made : patches) {
      crc = crc32_patched(crc, made.before, made.after, end - made.offset - made.before.size());
    }
    Bytes after = before;
    store(&*(after.end() - size), crc, std::endian::big);
    return {place.offset, before, std::move(after), "CRC-32 at the end of the file"};
  }

  std::shared_ptr<const Source> source_;
  MindsporeRecords records_;
  Tree tree_{source_->budget()};
  std::shared_ptr<MindsporeTensors> tensors_;
  std::vector<Finding> findings_;
};

}  // namespace

bool starts_like_mindspore(const Source& source, ByteView head) {
  ByteView rest = head;
  const auto record = field(rest, field_1);
  const auto name = field(rest, field_1);
  if (!record || !name || *record > source.size() || *name == 0 || *name >= rest.size() || *name >= *record)
    return false;
  rest = rest.subspan(*name);
  return field(rest, field_2).has_value();
}

std::unique_ptr<Container> open_mindspore(const std::shared_ptr<const Source>& source) {
  return std::make_unique<Mindspore>(source);
}

}  // namespace tare
