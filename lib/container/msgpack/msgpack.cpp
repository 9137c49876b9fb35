#include "lib/container/msgpack/msgpack.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/container/element_patch.hpp"
#include "lib/container/msgpack/lead.hpp"
#include "lib/container/msgpack/new_msgpack.hpp"
#include "lib/container/msgpack/reader.hpp"
#include "lib/container/plain_change.hpp"

namespace tare {
namespace {

using Form = MsgpackLead::Form;

/// A lead byte and `size` bytes of a number, big-endian.
Bytes encoded(std::uint8_t lead, std::uint64_t bits, std::size_t size) {
  Bytes bytes(1 + size);
  bytes[0] = static_cast<std::byte>(lead);
  for (std::size_t i = 0; i < size; ++i) bytes[1 + i] = static_cast<std::byte>(bits >> 8 * (size - 1 - i));
  return bytes;
}

struct Width {
  std::size_t size;
  std::uint8_t natural, integer;  ///< lead bytes
};

constexpr auto widths = std::to_array<Width>({{1, 0xcc, 0xd0}, {2, 0xcd, 0xd1}, {4, 0xce, 0xd2}, {8, 0xcf, 0xd3}});

bool fits(std::int64_t value, std::size_t size) {
  if (size == 8) return true;
  const auto bits = static_cast<int>(8 * size);
  return value >= 0 ? value < std::int64_t{1} << bits : value >= -(std::int64_t{1} << (bits - 1));
}

/// In as many bytes as before where that is possible (longer than need be is allowed), else in as few as need be.
Bytes encoded_integer(std::int64_t value, std::size_t old_size) {
  const bool is_small = value >= -32 && value < 128;
  if (is_small && old_size == 1) return {static_cast<std::byte>(value)};
  for (const std::size_t least : {old_size, std::size_t{0}}) {
    for (const Width& width : widths) {
      if (1 + width.size < least || !fits(value, width.size)) continue;
      return encoded(value >= 0 ? width.natural : width.integer, static_cast<std::uint64_t>(value), width.size);
    }
  }
  throw Error(Status::internal, "an integer that fits in no msgpack");
}

Bytes encoded_double(double value) {
  return encoded(0xcb, std::bit_cast<std::uint64_t>(value), 8);
}

/// Every reader makes a double of it: one that is rounded would not be what was asked for.
Bytes encoded_single(double value, const std::string& meaning) {
  const auto single = static_cast<float>(value);
  if (!std::isnan(value) && static_cast<double>(single) != value) {
    throw Error(Status::refused, meaning + ": float32 cannot hold it",
                std::isfinite(single) ? fmt::format("the nearest that it can hold is {}", static_cast<double>(single))
                                      : std::string());
  }
  return encoded(0xca, std::bit_cast<std::uint32_t>(single), 4);
}

class Msgpack final : public Container {
 public:
  explicit Msgpack(std::shared_ptr<const Source> source)
      : source_(std::move(source)), contents_(read_msgpack(source_)) {
    StoredTensors::install(contents_.arrays, contents_.values.tree());
  }

  [[nodiscard]] std::string_view format() const override { return "msgpack"; }
  [[nodiscard]] const Tree& tree() const override { return contents_.values.tree(); }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return contents_.values.findings; }
  [[nodiscard]] bool can_add() const override { return true; }
  [[nodiscard]] FileChange change(std::span<const NodeChange> changes) const override {
    std::vector<ChangedRun> runs;
    for (const NodeChange& change : changes) {
      if (is_elements(change)) {
        add_elements(change, runs);
      } else {
        runs.push_back(changed(change));
      }
    }
    return change_runs(*source_, std::move(runs));
  }

 private:
  /// Whether elements of an array change, and not its size.
  [[nodiscard]] bool is_elements(const NodeChange& change) const {
    return tree().kind(change.node) == Kind::array && !std::holds_alternative<NewTensor>(change.value);
  }

  /// An int can take as many bytes, and becomes a double.
  [[nodiscard]] bool is_single(NodeId node) const {
    constexpr std::size_t single_size = 5;
    return tree().kind(node) == Kind::floating && contents_.values.place(node).size == single_size;
  }

  /// flax cuts what is large into chunks, each with its own place.
  void add_elements(const NodeChange& change, std::vector<ChangedRun>& runs) const {
    const StoredTensor& stored = contents_.arrays->at(change.node);
    for (Patch& patch : element_patches(stored, change)) {
      if (patch.before == patch.after && !stored.more.empty()) continue;
      runs.push_back({{patch.offset, patch.before.size()}, std::move(patch.after), change.meaning});
    }
  }

  [[nodiscard]] ChangedRun changed(const NodeChange& change) const {
    const Span place = contents_.values.place(change.node);
    if (tree().kind(change.node) == Kind::array) {
      const auto& anew = std::get<NewTensor>(change.value);
      return {place, resized(contents_.arrays->at(change.node), anew, change.meaning), change.meaning};
    }
    if (const auto* anew = std::get_if<NewDocument>(&change.value)) {
      if (tree().kind(change.node) != Kind::none) throw Error(Status::refused, change.meaning + ": a value is there");
      return {place, new_msgpack(anew->document), change.meaning};
    }
    if (const auto* anew = std::get_if<NewEntries>(&change.value)) {
      if (!tree().items(change.node).empty()) {
        throw Error(Status::refused, change.meaning + ": msgpack's maps are not added to: it holds something already");
      }
      return {place, new_msgpack({anew->entries}), change.meaning};
    }
    const NewNumber number = number_of(change);
    if (const auto* flag = std::get_if<bool>(&number)) {
      return {place, {static_cast<std::byte>(*flag ? 0xc3 : 0xc2)}, change.meaning};
    }
    if (const auto* real = std::get_if<double>(&number)) {
      return {place, is_single(change.node) ? encoded_single(*real, change.meaning) : encoded_double(*real),
              change.meaning};
    }
    const Integer& integer = std::get<Integer>(number);
    if (integer.is_big()) {
      throw Error(Status::refused, fmt::format("{}: msgpack holds integers of 64 bits", change.meaning));
    }
    return {place, encoded_integer(integer.value, place.size), change.meaning};
  }

  static Bytes resized(const StoredTensor& stored, const NewTensor& anew, const std::string& meaning) {
    if (stored.order != std::endian::little || !stored.more.empty()) {
      throw Error(Status::refused, meaning + ": its elements do not stand in one piece");
    }
    return new_msgpack({DocumentTensor{stored.tensor.type, anew.shape, anew.elements}});
  }

  std::shared_ptr<const Source> source_;
  MsgpackContents contents_;
};

}  // namespace

bool starts_like_msgpack(ByteView head) {
  if (head.empty()) return false;
  const MsgpackLead map = msgpack_lead(head[0]);
  if (map.form != Form::pairs || head[0] == std::byte{0x80} || head.size() < 2u + map.length_size) return false;
  return msgpack_lead(head[1u + map.length_size]).form == Form::text;
}

std::unique_ptr<Container> open_msgpack(const std::shared_ptr<const Source>& source) {
  return std::make_unique<Msgpack>(source);
}

}  // namespace tare
