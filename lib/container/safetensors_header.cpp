#include "lib/container/safetensors_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"

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
      if (text_[at_] == '\\') {
        escape(value);
      } else {
        value += text_[at_];
      }
    }
    if (at_++ == text_.size()) fail("a string without an end");
    return value;
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
    if (problem != std::errc() || value < 0) fail("no whole number");
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  /// Names of tensors are identifiers; of the escapes only those that an encoder could need for them are known.
  void escape(std::string& value) {
    constexpr std::string_view known = "\"\\/";
    if (++at_ == text_.size() || known.find(text_[at_]) == known.npos) fail("an escape that no tensor's name needs");
    value += text_[at_];
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

void skip_strings(HeaderText& text) {
  text.expect('{');
  while (!text.takes('}')) {
    text.string();
    text.expect(':');
    text.string();
    text.takes(',');
  }
}

SafetensorsEntry read_entry(HeaderText& text, std::string name, Span data) {
  SafetensorsEntry entry{std::move(name), {}, {}, {}};
  std::optional<std::vector<std::int64_t>> range;
  text.expect('{');
  while (!text.takes('}')) {
    const std::string key = text.string();
    text.expect(':');
    if (key == "dtype") {
      entry.type = type_named(text.string());
    } else if (key == "shape") {
      entry.shape = text.numbers();
    } else if (key == "data_offsets") {
      range = text.numbers();
    } else {
      text.fail(fmt::format("an unknown key '{}'", key));
    }
    text.takes(',');
  }
  if (!range || range->size() != 2 || range->front() > range->back() ||
      static_cast<std::uint64_t>(range->back()) > data.size) {
    text.fail(fmt::format("{} has no place in the file", entry.name));
  }
  entry.place = {data.offset + static_cast<std::uint64_t>(range->front()),
                 static_cast<std::uint64_t>(range->back() - range->front())};
  return entry;
}

}  // namespace

std::vector<SafetensorsEntry> read_safetensors_header(const Source& source) {
  const Bytes prefix = source.read({0, length_size});
  const auto length = load_le<std::uint64_t>(prefix.data());
  if (length > max_header) {
    throw Error(Status::refused, fmt::format("{}: a safetensors header of {} bytes", source.name(), length));
  }
  const Bytes bytes = source.read({length_size, length});
  const Span data{length_size + length, source.size() - length_size - length};
  HeaderText text(as_text(bytes), source.name());
  std::vector<SafetensorsEntry> entries;
  text.expect('{');
  while (!text.takes('}')) {
    std::string name = text.string();
    text.expect(':');
    if (name == "__metadata__") {
      skip_strings(text);
    } else {
      entries.push_back(read_entry(text, std::move(name), data));
    }
    text.takes(',');
  }
  return entries;
}

}  // namespace tare
