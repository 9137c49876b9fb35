#include "lib/container/safetensors/header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_set>

#include "lib/base/error.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/text.hpp"

namespace tare {
namespace {

constexpr std::uint64_t length_size = 8;
constexpr std::uint64_t max_header = limits::max_small_text_bytes;

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

/// As much of JSON as such headers have: an object of objects of strings and lists of whole numbers.
class HeaderText {
 public:
  HeaderText(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  [[noreturn]] void fail(std::string_view problem) const {
    throw Error(Status::corrupt,
                fmt::format("{}: safetensors header: {} at offset {}", name_, problem, length_size + at_),
                "the file is damaged; take another copy");
  }

  /// Where in the image the next character stands that is no blank.
  std::uint64_t place() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    return length_size + at_;
  }
  /// What was read since `begin`.
  [[nodiscard]] Span since(std::uint64_t begin) const { return {begin, length_size + at_ - begin}; }

  /// Takes `wanted` if it comes next.
  bool takes(char wanted) {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!takes(wanted)) fail(fmt::format("no '{}'", wanted));
  }

  std::string string() {
    expect('"');
    std::string value;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) fail("a raw control character");
      if (text_[at_] == '\\') {
        escape(value);
      } else {
        value += text_[at_];
      }
    }
    if (at_++ == text_.size()) fail("a string without an end");
    return value;
  }

  /// The members of an object: `member` reads the value of the name that it is given, which stands there once.
  template <typename Member>
  void object(const Member& member) {
    std::unordered_set<std::string, KeyedHash> names;
    expect('{');
    if (takes('}')) return;
    do {
      const std::uint64_t begin = place();
      std::string name = string();
      if (!names.insert(name).second) fail(fmt::format("'{}' is there twice", name));
      expect(':');
      member(std::move(name), begin);
    } while (takes(','));
    expect('}');
  }

  /// Blanks alone may follow.
  void end() {
    place();
    if (at_ != text_.size()) fail("something behind its end");
  }

  std::vector<std::int64_t> numbers() {
    std::vector<std::int64_t> values;
    expect('[');
    while (!takes(']')) {
      if (!values.empty()) expect(',');
      if (values.size() == limits::max_tensor_dimensions) fail("a list that is too long");
      values.push_back(number());
    }
    return values;
  }

 private:
  std::int64_t number() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    std::int64_t value = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, problem] = std::from_chars(begin, text_.data() + text_.size(), value);
    const bool is_number = problem == std::errc() && *begin != '-' && (*begin != '0' || end == begin + 1);
    if (!is_number) fail("no whole number");
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  /// Leaves at_ on the last character of the escape.
  void escape(std::string& value) {
    constexpr std::string_view escapes = "\"\\/bfnrt";
    constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    if (++at_ == text_.size()) fail("a string without an end");
    if (text_[at_] == 'u') return unicode(value);
    const std::size_t known = escapes.find(text_[at_]);
    if (known == escapes.npos) fail("an unknown escape");
    value += meanings[known];
  }

  /// Beyond ASCII the format's writers put characters as they are: no surrogates to join.
  void unicode(std::string& value) {
    constexpr std::size_t digits = 4;
    unsigned code = 0;
    const std::string_view hex = text_.substr(at_ + 1, digits);
    const auto [end, problem] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
    if (problem != std::errc() || end != hex.data() + digits || code >= 0x80) fail("an escape that is not ASCII");
    value += static_cast<char>(code);
    at_ += digits;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

std::vector<std::pair<std::string, std::string>> read_strings(HeaderText& text) {
  std::vector<std::pair<std::string, std::string>> strings;
  text.object([&](std::string key, std::uint64_t) { strings.emplace_back(std::move(key), text.string()); });
  return strings;
}

/// Nothing about an element that tare does not know.
void require_size(HeaderText& text, const SafetensorsEntry& entry) {
  if (entry.type.size == 0) return;
  std::uint64_t bytes = entry.type.size;
  for (const std::int64_t size : entry.shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) bytes = entry.place.size + 1;
    if (bytes > entry.place.size) break;
  }
  if (bytes != entry.place.size) {
    text.fail(fmt::format("{} has {} bytes, and not those that its shape says", entry.name, entry.place.size));
  }
}

SafetensorsEntry read_entry(HeaderText& text, std::string name, Span data) {
  SafetensorsEntry entry{std::move(name), {}, {}, {}};
  std::optional<std::vector<std::int64_t>> range;
  text.object([&](const std::string& key, std::uint64_t) {
    const std::uint64_t begin = text.place();
    if (key == "dtype") {
      entry.type = type_named(text.string());
    } else if (key == "shape") {
      entry.shape = text.numbers();
      entry.shape_text = text.since(begin);
    } else if (key == "data_offsets") {
      range = text.numbers();
      entry.place_text = text.since(begin);
    } else {
      text.fail(fmt::format("an unknown key '{}'", key));
    }
  });
  if (!range || range->size() != 2 || range->front() > range->back() ||
      static_cast<std::uint64_t>(range->back()) > data.size) {
    text.fail(fmt::format("{} has no place in the file", entry.name));
  }
  entry.place = {data.offset + static_cast<std::uint64_t>(range->front()),
                 static_cast<std::uint64_t>(range->back() - range->front())};
  require_size(text, entry);
  return entry;
}

}  // namespace

SafetensorsHeader read_safetensors_header(const Source& source) {
  const Bytes prefix = source.read({0, length_size});
  const auto length = load_le<std::uint64_t>(prefix.data());
  if (length > max_header) {
    throw Error(Status::refused, fmt::format("{}: a safetensors header of {} bytes", source.name(), length));
  }
  const Bytes bytes = source.read({length_size, length});
  SafetensorsHeader header{{}, {}, {length_size + length, source.size() - length_size - length}};
  HeaderText text(as_text(bytes), source.name());
  if (!is_utf8(as_text(bytes))) text.fail("no UTF-8");
  text.object([&](std::string name, std::uint64_t begin) {
    if (name == "__metadata__") {
      header.metadata = read_strings(text);
      header.metadata_member = text.since(begin);
    } else {
      header.entries.push_back(read_entry(text, std::move(name), header.data));
      header.entries.back().member = text.since(begin);
    }
  });
  text.end();
  return header;
}

}  // namespace tare
