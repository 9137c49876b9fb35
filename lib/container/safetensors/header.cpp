#include "lib/container/safetensors/header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/base/limits.hpp"
#include "lib/json/reader.hpp"

namespace tare {
namespace {

constexpr std::uint64_t length_size = 8;

struct TypeName {
  std::string_view stored;
  std::string_view type;
};

constexpr auto type_names = std::to_array<TypeName>({
    {"F64", "float64"},
    {"F32", "float32"},
    {"F16", "float16"},
    {"BF16", "bfloat16"},
    {"F8_E4M3", "float8_e4m3fn"},
    {"F8_E5M2", "float8_e5m2"},
    {"F8_E8M0", "float8_e8m0fnu"},
    {"I64", "int64"},
    {"I32", "int32"},
    {"I16", "int16"},
    {"I8", "int8"},
    {"U64", "uint64"},
    {"U32", "uint32"},
    {"U16", "uint16"},
    {"U8", "uint8"},
    {"BOOL", "bool"},
});

ElementType type_named(std::string_view stored) {
  const auto row =
      std::find_if(type_names.begin(), type_names.end(), [&](const TypeName& n) { return n.stored == stored; });
  return row == type_names.end() ? ElementType{} : element_type(row->type);
}

class HeaderReader {
 public:
  HeaderReader(const Source& source, std::uint64_t length)
      : name_(source.name() + ": safetensors header"),
        budget_(source.budget()),
        header_{{}, {}, {length_size + length, source.size() - length_size - length}} {}

  SafetensorsHeader read(const Bytes& text) && {
    header_.entries.reserve(most_entries(text));
    read_json_members(text, name_, budget_, [&](const PlainTree& some) { take(some); });
    require_distinct();
    return std::move(header_);
  }

 private:
  /// Not more than an object each, nor than there is room for.
  static std::size_t most_entries(const Bytes& text) {
    constexpr std::string_view least = R"("":{"dtype":"I8","shape":[],"data_offsets":[0,0]})";
    const auto objects = std::count(text.begin(), text.end(), std::byte{'{'});
    return std::min(static_cast<std::size_t>(objects), text.size() / least.size());
  }

  /// Members of the header, a name and a value each.
  void take(const PlainTree& some) {
    if (!some.findings.empty()) fail_of_doubles();
    contents_ = &some;
    tree_ = &some.tree();
    const auto members = members_of(tree_->root);
    for (std::size_t i = 0; i < members.size(); i += 2) {
      const std::uint64_t begin = place(members[i]).offset;
      const Span member{begin, place(members[i + 1]).end() - begin};
      if (tree_->text(members[i]) == "__metadata__") {
        if (header_.metadata_member.size != 0) fail_of_doubles();
        header_.metadata = read_strings(members[i + 1]);
        header_.metadata_member = member;
      } else {
        header_.entries.push_back(read_entry(std::string(tree_->text(members[i])), members[i + 1]));
        SafetensorsEntry& entry = header_.entries.back();
        entry.member = member;
        if (budget_ != nullptr) budget_->take_memory(sizeof entry + entry.name.size() + 8 * entry.shape.size());
      }
    }
  }

  /// A million hashes sort sooner than a table of them fills. Names that share one are told apart as texts.
  void require_distinct() const {
    std::vector<std::uint64_t> hashes;
    hashes.reserve(header_.entries.size());
    for (const SafetensorsEntry& entry : header_.entries) hashes.push_back(KeyedHash()(entry.name));
    std::sort(hashes.begin(), hashes.end());
    if (std::adjacent_find(hashes.begin(), hashes.end()) == hashes.end()) return;
    std::set<std::string_view> names;
    for (const SafetensorsEntry& entry : header_.entries) {
      if (!names.insert(entry.name).second) fail_of_doubles();
    }
  }
  [[noreturn]] void fail_of_doubles() const { fail("a name that is there twice"); }

  [[noreturn]] void fail(std::string_view problem) const {
    throw Error(Status::corrupt, fmt::format("{}: {}", name_, problem), "the file is damaged; take another copy");
  }

  /// In the image.
  [[nodiscard]] Span place(NodeId node) const {
    const Span in_text = contents_->place(node);
    return {length_size + in_text.offset, in_text.size};
  }

  [[nodiscard]] std::span<const NodeId> members_of(NodeId node) const {
    if (tree_->kind(node) != Kind::map) fail("no object where one should stand");
    return tree_->items(node);
  }

  [[nodiscard]] std::string_view text(NodeId node) const {
    if (tree_->kind(node) != Kind::string) fail("no text where one should stand");
    return tree_->text(node);
  }

  [[nodiscard]] std::vector<std::int64_t> numbers(NodeId node) const {
    if (tree_->kind(node) != Kind::list) fail("no list where one should stand");
    const auto items = tree_->items(node);
    if (items.size() > limits::max_tensor_dimensions) fail("a list that is too long");
    std::vector<std::int64_t> values;
    for (const NodeId item : items) {
      const Node& number = (*tree_)[item];
      const bool is_small = number.kind == Kind::integer && number.store != RunIn::side && number.as.integer >= 0;
      // As it is written: -0 is none.
      if (!is_small || place(item).size != std::to_string(number.as.integer).size()) fail("no whole number");
      values.push_back(number.as.integer);
    }
    return values;
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> read_strings(NodeId node) const {
    const auto members = members_of(node);
    std::vector<std::pair<std::string, std::string>> strings;
    for (std::size_t i = 0; i < members.size(); i += 2) strings.emplace_back(text(members[i]), text(members[i + 1]));
    return strings;
  }

  [[nodiscard]] SafetensorsEntry read_entry(std::string name, NodeId node) const {
    SafetensorsEntry entry{std::move(name), {}, {}, {}};
    const auto members = members_of(node);
    std::vector<std::int64_t> range;
    for (std::size_t i = 0; i < members.size(); i += 2) {
      const std::string_view key = text(members[i]);
      if (key == "dtype") {
        entry.type = type_named(text(members[i + 1]));
      } else if (key == "shape") {
        entry.shape = numbers(members[i + 1]);
      } else if (key == "data_offsets") {
        range = numbers(members[i + 1]);
      } else {
        fail(fmt::format("an unknown key '{}' of {}", key, entry.name));
      }
    }
    if (range.size() != 2 || range[0] > range[1] || static_cast<std::uint64_t>(range[1]) > header_.data.size) {
      fail(fmt::format("{} has no place in the file", entry.name));
    }
    entry.place = {header_.data.offset + static_cast<std::uint64_t>(range[0]),
                   static_cast<std::uint64_t>(range[1] - range[0])};
    require_size(entry);
    return entry;
  }

  /// Nothing about an element that tare does not know.
  void require_size(const SafetensorsEntry& entry) const {
    if (entry.type.size == 0) return;
    std::uint64_t bytes = entry.type.size;
    for (const std::int64_t size : entry.shape) {
      if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) bytes = entry.place.size + 1;
      if (bytes > entry.place.size) break;
    }
    if (bytes == entry.place.size) return;
    fail(fmt::format("{} has {} bytes, and not those that its shape says", entry.name, entry.place.size));
  }

  std::string name_;
  std::shared_ptr<Budget> budget_;
  const PlainTree* contents_ = nullptr;  ///< the members that are being read
  const Tree* tree_ = nullptr;
  SafetensorsHeader header_;
};

}  // namespace

SafetensorsHeader read_safetensors_header(const Source& source) {
  const Bytes prefix = source.read({0, length_size});
  const auto length = load_le<std::uint64_t>(prefix.data());
  if (length > limits::max_safetensors_header_bytes) {
    throw Error(Status::refused, fmt::format("{}: a safetensors header of {} bytes", source.name(), length));
  }
  return HeaderReader(source, length).read(source.read({length_size, length}));
}

}  // namespace tare
