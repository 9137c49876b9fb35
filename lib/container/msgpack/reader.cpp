#include "lib/container/msgpack/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <optional>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/msgpack/lead.hpp"

namespace tare {
namespace {

using Form = MsgpackLead::Form;

constexpr std::uint64_t window_size = 16 << 10;
/// Keys and names are shorter; longer texts are kept as opaque.
constexpr std::uint64_t longest_text = 4096;
constexpr std::string_view chunked_key = "__msgpack_chunked_array__";

/// One value without what is in it.
struct Item {
  MsgpackLead lead;
  std::uint64_t begin = 0;
  std::uint64_t count = 0;  ///< bytes of data; of a collection the values in it
  std::uint64_t data = 0;   ///< where its data, or its first value, starts
  std::uint8_t type = 0;    ///< of an extension

  [[nodiscard]] bool is_collection() const { return lead.form == Form::items || lead.form == Form::pairs; }
  [[nodiscard]] std::uint64_t end() const { return data + (is_collection() ? 0 : count); }
  [[nodiscard]] Span place() const { return {begin, end() - begin}; }
};

class MsgpackReader {
 public:
  explicit MsgpackReader(const std::shared_ptr<const Source>& source)
      : source_(source), result_{PlainTree(source->name(), source->budget())} {}

  MsgpackContents read() {
    std::vector<std::uint64_t> left = {1};
    std::uint64_t at = 0;
    while (!left.empty()) {
      if (left.back() == 0) {
        left.pop_back();
        if (!left.empty()) close();
        continue;
      }
      --left.back();
      const Item item = next(at);
      at = item.end();
      add(item);
      if (item.is_collection()) left.push_back(item.count);
    }
    if (at != source_->size()) fail(at, "is behind the end of the map");
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(std::uint64_t at, std::string_view problem) const {
    throw Error(Status::corrupt, fmt::format("{}: msgpack: what stands at offset {} {}", source_->name(), at, problem),
                "the file is cut short or damaged, or it is no msgpack");
  }

  /// `size` bytes at `at`, at most `window_size` of them.
  ByteView peek(std::uint64_t at, std::size_t size) {
    if (at > source_->size() || size > source_->size() - at) fail(at, "passes the end");
    if (at < start_ || at + size > start_ + window_.size()) {
      start_ = at;
      window_ = source_->read({at, std::min(window_size, source_->size() - at)});
    }
    return ByteView(window_).subspan(at - start_, size);
  }

  std::uint64_t big_endian(std::uint64_t at, std::size_t size) {
    std::uint64_t value = 0;
    for (const std::byte byte : peek(at, size)) value = value << 8 | std::to_integer<std::uint64_t>(byte);
    return value;
  }

  Item next(std::uint64_t at) {
    Item item{msgpack_lead(peek(at, 1)[0]), at};
    if (item.lead.form == Form::invalid) fail(at, "is no msgpack");
    const bool has_number = item.lead.form != Form::small_integer && item.lead.form != Form::boolean;
    item.count =
        item.lead.length_size > 0 ? big_endian(at + 1, item.lead.length_size) : (has_number ? item.lead.fixed : 0);
    item.data = at + 1 + item.lead.length_size;
    if (item.lead.form == Form::extension) item.type = static_cast<std::uint8_t>(big_endian(item.data++, 1));
    if (item.lead.form == Form::pairs) item.count *= 2;
    // Every value takes a byte at least: a count beyond the bytes left is a lie, told before anything is counted.
    if (item.data > source_->size() || item.count > source_->size() - item.data) fail(at, "passes the end");
    return item;
  }

  void add(const Item& item) {
    PlainTree& values = result_.values;
    switch (item.lead.form) {
      case Form::none:
        return values.none(item.place());
      case Form::boolean:
        return values.boolean(item.lead.fixed == 1, item.place());
      case Form::small_integer:
        return values.integer(static_cast<std::int8_t>(peek(item.begin, 1)[0]), item.place());
      case Form::natural:
        return add_natural(big_endian(item.data, item.count), item.place());
      case Form::integer:
        return values.integer(signed_number(item), item.place());
      case Form::floating:
        return values.floating(floating(item), item.place());
      case Form::text:
        return add_text(Kind::string, item);
      case Form::bytes:
        return add_text(Kind::bytes, item);
      case Form::extension:
        return add_extension(item);
      case Form::items:
        return values.open(Kind::list, item.place());
      case Form::pairs:
        return values.open(Kind::map, item.place());
      case Form::invalid:
        break;
    }
  }

  void add_natural(std::uint64_t value, Span place) {
    if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      result_.values.integer(static_cast<std::int64_t>(value), place);
    } else {
      result_.values.big_integer(std::to_string(value), place);
    }
  }

  std::int64_t signed_number(const Item& item) {
    const auto unused = static_cast<unsigned>(64 - 8 * item.count);
    return static_cast<std::int64_t>(big_endian(item.data, item.count) << unused) >> unused;
  }

  double floating(const Item& item) {
    const std::uint64_t bits = big_endian(item.data, item.count);
    return item.count == 4 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits)) : std::bit_cast<double>(bits);
  }

  void add_text(Kind kind, const Item& item) {
    if (item.count > longest_text) return add_opaque(item);
    result_.values.text(kind, as_text(peek(item.data, item.count)), item.place());
  }

  void add_opaque(const Item& item) {
    Node node;
    node.kind = Kind::opaque;
    result_.values.node(result_.values.tree().add(node), item.place());
  }

  void add_extension(const Item& item) {
    constexpr std::uint8_t array = 1;
    constexpr std::uint8_t scalar = 3;
    if (item.type != array && item.type != scalar) return add_opaque(item);
    auto stored = array_in(item);
    if (!stored) {
      warn("array-not-read", fmt::format("the array at offset {} makes no sense: its shape or type and its {} bytes do "
                                         "not fit",
                                         item.begin, item.count));
      return add_opaque(item);
    }
    stored->tensor.is_scalar = item.type == scalar;
    Tree& tree = result_.values.tree();
    result_.values.node(result_.arrays->add(tree, Kind::array, *std::move(stored)), item.place());
  }

  /// (shape, name of the type, bytes)
  std::optional<StoredTensor> array_in(const Item& item) {
    const std::uint64_t end = item.end();
    const Item whole = next(item.data);
    if (whole.lead.form != Form::items || whole.count != 3) return std::nullopt;
    const Item shape = next(whole.data);
    if (shape.lead.form != Form::items || shape.count > limits::max_tensor_dimensions) return std::nullopt;
    StoredTensor stored;
    stored.source = source_;
    stored.tensor.library = "numpy";
    std::uint64_t at = shape.data;
    for (std::uint64_t i = 0; i < shape.count; ++i) {
      const Item size = next(at);
      const bool is_small = size.lead.form == Form::small_integer;
      if (!is_small && size.lead.form != Form::natural) return std::nullopt;
      const std::uint64_t number = is_small ? big_endian(size.begin, 1) : big_endian(size.data, size.count);
      if (is_small && number > 0x7f) return std::nullopt;  // a negative one
      if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
      stored.tensor.shape.push_back(static_cast<std::int64_t>(number));
      at = size.end();
    }
    const Item type = next(at);
    if (type.lead.form != Form::text || type.count > longest_text) return std::nullopt;
    stored.tensor.type = element_type(as_text(peek(type.data, type.count)));
    const Item data = next(type.end());
    if (data.lead.form != Form::bytes || data.end() > end) return std::nullopt;
    stored.place = {data.data, data.count};
    const bool is_known = stored.tensor.type.size != 0;
    return is_known && stored_size(stored.tensor) != data.count ? std::nullopt : std::optional(std::move(stored));
  }

  void close() {
    Tree& tree = result_.values.tree();
    const NodeId node = result_.values.close();
    if (tree.find(node, chunked_key) == nowhere) return;
    auto whole = joined(tree, node);
    if (whole) {
      result_.arrays->put(tree.edit(node), Kind::array, *std::move(whole));
    } else {
      warn("array-not-read", "a chunked array whose chunks are not all there, or not of its shape");
    }
  }

  /// A map's values by their keys "0", "1" ...: nowhere for a number that is not there.
  static std::vector<NodeId> numbered(const Tree& tree, NodeId map) {
    const auto pairs = tree.items(map);
    std::vector<NodeId> values(pairs.size() / 2, nowhere);
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      if (tree.kind(pairs[i]) != Kind::string) continue;
      const std::string_view key = tree.text(pairs[i]);
      std::size_t number = 0;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
      const bool is_number =
          error == std::errc() && end == key.data() + key.size() && (key.size() == 1 || key[0] != '0');
      if (is_number && number < values.size()) values[number] = pairs[i + 1];
    }
    return values;
  }

  /// flax puts the chunks "0", "1", ... together and gives the whole the shape, {"0": rows, "1": columns ...}.
  std::optional<StoredTensor> joined(const Tree& tree, NodeId map) {
    const NodeId chunks = tree.find(map, "chunks");
    const NodeId shape = tree.find(map, "shape");
    StoredTensor whole;
    std::uint64_t size = 0;
    const std::vector<NodeId> in_order = numbered(tree, chunks);
    for (std::size_t i = 0; i < in_order.size(); ++i) {
      const NodeId chunk = in_order[i];
      if (chunk == nowhere || tree.kind(chunk) != Kind::array) return std::nullopt;
      const StoredTensor& stored = result_.arrays->of(tree[chunk]);
      if (i > 0 && stored.tensor.type.name != whole.tensor.type.name) return std::nullopt;
      size += stored.place.size;
      i == 0 ? static_cast<void>(whole = stored) : whole.more.push_back(stored.place);
    }
    whole.tensor.shape.clear();
    for (const NodeId count : numbered(tree, shape)) {
      if (count == nowhere || tree.kind(count) != Kind::integer) return std::nullopt;
      whole.tensor.shape.push_back(tree[count].as.integer);
    }
    return stored_size(whole.tensor) == size ? std::optional(std::move(whole)) : std::nullopt;
  }

  void warn(std::string_view code, std::string message) {
    if (++warned_ > limits::max_alike_findings) return;
    result_.values.findings.push_back({Severity::warning, std::string(code), std::move(message), {}, {}});
  }

  const std::shared_ptr<const Source>& source_;
  MsgpackContents result_;
  std::size_t warned_ = 0;
  Bytes window_;
  std::uint64_t start_ = 0;
};

}  // namespace

MsgpackContents read_msgpack(const std::shared_ptr<const Source>& source) {
  return MsgpackReader(source).read();
}

}  // namespace tare
