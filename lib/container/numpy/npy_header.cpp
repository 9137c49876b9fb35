// The header of a `.npy`: a Python dict of three known keys as text. Any other expression is refused, never evaluated.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/numpy/npy.hpp"
#include "lib/container/numpy_type.hpp"

namespace tare {
namespace {

constexpr std::string_view npy_magic = "\x93NUMPY";
constexpr std::uint64_t npy_prefix_size = 8;  // magic, version
/// numpy's own limit for headers that it evaluates.
constexpr std::uint64_t longest_header = 10000;

struct Described {
  std::optional<std::string> type;
  std::vector<std::string> fields;  ///< types of a structured one's, in the order of their text
  std::optional<bool> is_fortran;
  std::optional<std::vector<std::int64_t>> shape;
};

/// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }. Nothing where it is anything else.
class HeaderText {
 public:
  explicit HeaderText(std::string_view text) : text_(text) {}

  std::optional<Described> read() {
    Described described;
    if (!take("{")) return std::nullopt;
    while (!take("}")) {
      if (!member(described)) return std::nullopt;
      if (!take(",") && !peek("}")) return std::nullopt;
    }
    const bool is_whole = described.type && described.is_fortran && described.shape;
    return is_whole && rest_is_blank() ? std::optional(described) : std::nullopt;
  }

 private:
  bool peek(std::string_view wanted) {
    text_.remove_prefix(std::min(text_.find_first_not_of(" \n"), text_.size()));
    return text_.starts_with(wanted);
  }
  bool take(std::string_view wanted) {
    if (!peek(wanted)) return false;
    text_.remove_prefix(wanted.size());
    return true;
  }
  [[nodiscard]] bool rest_is_blank() const { return text_.find_first_not_of(" \n") == text_.npos; }

  bool member(Described& described) {
    const auto key = string();
    if (!key || !take(":")) return false;
    if (*key == "descr") return type(described);
    if (*key == "shape") return shape(described);
    if (*key != "fortran_order") return false;
    described.is_fortran = peek("True");
    return take("True") || take("False");
  }

  std::optional<std::string> string() {
    for (const std::string_view quote : {"'", "\""}) {
      if (!take(quote)) continue;
      const std::size_t end = text_.find(quote);
      if (end == text_.npos || text_.substr(0, end).find('\\') != text_.npos) return std::nullopt;
      std::string value(text_.substr(0, end));
      text_.remove_prefix(end + 1);
      return value;
    }
    return std::nullopt;
  }

  /// A structured type is a list of pairs, names and types, which may be lists again: it has no one number.
  bool type(Described& described) {
    described.fields.clear();
    described.type = peek("[") ? fields(described.fields) : string();
    return described.type.has_value();
  }

  /// What stands behind an opening parenthesis is a name; any other text is taken for a type.
  std::optional<std::string> fields(std::vector<std::string>& types) {
    std::size_t depth = 0;
    for (char before = 0; !text_.empty();) {
      const char c = text_.front();
      if (c == '\'' || c == '"') {
        const auto text = string();
        if (!text) return std::nullopt;
        if (before != '(') types.push_back(*text);
        before = c;
        continue;
      }
      text_.remove_prefix(1);
      if (c == '[') ++depth;
      if (c == ']' && --depth == 0) return "";
      if (c != ' ') before = c;
    }
    return std::nullopt;
  }

  bool shape(Described& described) {
    if (!take("(")) return false;
    described.shape.emplace();
    while (!take(")")) {
      peek("");
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0 || described.shape->size() == limits::max_tensor_dimensions) return false;
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      described.shape->push_back(size);
      if (!take(",") && !peek(")")) return false;
    }
    return true;
  }

  std::string_view text_;
};

bool is_object_type(std::string_view type) {
  return type.find('O') != type.npos;
}

/// Whether numpy takes `type` for numbers, text or times: nothing that is a pickle. "<f4", "|S12", "<M8[ns]", "V2".
bool is_data_type(std::string_view type) {
  constexpr std::string_view orders = "<>|=";
  constexpr std::string_view kinds = "?biufcmMSUVa";
  constexpr std::string_view digits = "0123456789";
  if (!type.empty() && orders.find(type.front()) != orders.npos) type.remove_prefix(1);
  if (type.empty() || kinds.find(type.front()) == kinds.npos) return false;
  const bool is_time = type.front() == 'm' || type.front() == 'M';
  type.remove_prefix(1);
  type.remove_prefix(std::min(type.find_first_not_of(digits), type.size()));
  if (is_time && type.starts_with('[')) return type.find_first_of("]O") == type.size() - 1 && type.back() == ']';
  return type.empty();
}

[[noreturn]] void fail(const Source& source, std::uint64_t begin, std::string_view problem) {
  throw Error(Status::corrupt, fmt::format("{}: the array at offset {}: {}", source.name(), begin, problem),
              "the file is cut short or damaged, or numpy did not write it");
}

}  // namespace

bool starts_like_npy(ByteView head) {
  return as_text(head).starts_with(npy_magic);
}

NpyHeader read_npy(const std::shared_ptr<const Source>& source, std::uint64_t begin) {
  const std::uint64_t all = source->size();
  const std::uint64_t left = begin < all ? all - begin : 0;
  if (left < npy_prefix_size + 4) fail(*source, begin, "cut short");
  const Bytes prefix = source->read({begin, npy_prefix_size + 4});
  const auto version = std::to_integer<unsigned>(prefix[6]);
  if (!starts_like_npy(prefix) || version < 1 || version > 3) fail(*source, begin, "no .npy of versions 1 to 3");
  const std::uint64_t length_size = version == 1 ? 2 : 4;
  const std::uint64_t length = version == 1 ? load_le<std::uint16_t>(prefix.data() + npy_prefix_size)
                                            : load_le<std::uint32_t>(prefix.data() + npy_prefix_size);
  const std::uint64_t head = npy_prefix_size + length_size + length;
  if (length > longest_header || head > left) {
    fail(*source, begin, fmt::format("its header says it is {} bytes long", length));
  }
  const Bytes text = source->read({begin + npy_prefix_size + length_size, length});
  auto described = HeaderText(as_text(text)).read();
  if (!described) fail(*source, begin, "its header is no description of an array");

  NpyHeader header;
  StoredTensor& array = header.array;
  array.source = source;
  array.tensor.library = "numpy";
  array.tensor.type = numpy_type(*described->type);
  array.tensor.shape = *described->shape;
  array.order = numpy_order(*described->type);
  array.is_fortran = *described->is_fortran && array.tensor.shape.size() > 1;
  array.place.offset = begin + head;
  const bool is_structured = !described->fields.empty();
  if (!is_structured) described->fields.push_back(*described->type);
  header.is_object = !is_structured && is_object_type(*described->type);
  header.is_data = std::ranges::all_of(described->fields, is_data_type);
  if (array.tensor.type.size == 0) {
    array.place.size = left - head;  // how long is not known
    return header;
  }
  const auto size = stored_size(array.tensor);
  if (!size || *size > left - head) {
    fail(*source, begin,
         fmt::format("shape [{}] of {}, and {} bytes", fmt::join(array.tensor.shape, ", "), array.tensor.type.name,
                     left - head));
  }
  array.place.size = *size;
  return header;
}

}  // namespace tare
