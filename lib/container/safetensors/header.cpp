#include "lib/container/safetensors/header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/base/limits.hpp"
#include "lib/json/lexer.hpp"

namespace tare {
namespace {

struct SafetensorsType {
  std::string_view stored;
  std::string_view type;
};

constexpr auto safetensors_types = std::to_array<SafetensorsType>({
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

/// Null where tare does not know it.
const ElementType* type_named(std::string_view stored) {
  static const auto types = [] {
    std::array<ElementType, safetensors_types.size()> all;
    std::transform(safetensors_types.begin(), safetensors_types.end(), all.begin(),
                   [](const SafetensorsType& row) { return element_type(row.type); });
    return all;
  }();
  const auto row = std::find_if(safetensors_types.begin(), safetensors_types.end(),
                                [&](const SafetensorsType& n) { return n.stored == stored; });
  return row == safetensors_types.end() ? nullptr : &types[static_cast<std::size_t>(row - safetensors_types.begin())];
}

class HeaderReader {
 public:
  HeaderReader(const Source& source, const Bytes& text)
      : name_(source.name() + ": safetensors header"),
        budget_(source.budget()),
        text_(text),
        lexer_(as_text(text), name_) {
    if (budget_ != nullptr) budget_->take_steps(JsonLexer::steps_a_byte * text.size());
    const std::uint64_t begin = safetensors_length_size + text.size();
    header_.data = {begin, source.size() - begin};
  }

  SafetensorsHeader read() && {
    header_.entries.reserve(most_entries());
    names_.reserve(text_.size());  // memory that is never written is none
    for_each_member([&] { take_member(); });
    lexer_.require_end();
    header_.names = std::make_shared<const Bytes>(std::move(names_));
    require_distinct();
    return std::move(header_);
  }

 private:
  /// Not more than an object each, nor than there is room for.
  [[nodiscard]] std::size_t most_entries() const {
    constexpr std::string_view least = R"("":{"dtype":"I8","shape":[],"data_offsets":[0,0]})";
    const auto objects = std::count(text_.begin(), text_.end(), std::byte{'{'});
    return std::min(static_cast<std::size_t>(objects), text_.size() / least.size());
  }

  /// With the lexer in front of each name.
  template <typename Take>
  void for_each_member(Take take) {
    if (!lexer_.take('{')) fail("no object where one should stand");
    if (lexer_.take('}')) return;
    do {
      lexer_.skip_space();
      take();
    } while (lexer_.take(','));
    lexer_.require('}', "a comma or the end should stand here");
  }

  std::string_view read_text() {
    lexer_.skip_space();
    if (lexer_.here() != '"') fail("no text where one should stand");
    return lexer_.string(decoded_);
  }

  std::string_view read_key() {
    if (lexer_.here() != '"') lexer_.fail("a name should stand here");
    const std::string_view key = lexer_.string(decoded_);
    lexer_.require(':', "a colon should stand here");
    return key;
  }

  void take_member() {
    const std::uint64_t begin = safetensors_length_size + lexer_.at();
    const std::string_view name = read_key();
    if (name == "__metadata__") {
      if (header_.metadata_member.size != 0) fail_of_doubles();
      read_metadata();
      header_.metadata_member = {begin, safetensors_length_size + lexer_.at() - begin};
      return;
    }
    SafetensorsEntry entry;
    entry.name = keep_name(name);
    read_entry(entry);
    entry.described = {static_cast<std::uint32_t>(begin),
                       static_cast<std::uint32_t>(safetensors_length_size + lexer_.at() - begin)};
    if (budget_ != nullptr) budget_->take_memory(sizeof entry + entry.name.count + 8 * entry.shape.count);
    header_.entries.push_back(entry);
  }

  SafetensorsRun keep_name(std::string_view name) {
    const SafetensorsRun kept{static_cast<std::uint32_t>(names_.size()), static_cast<std::uint32_t>(name.size())};
    const ByteView bytes = as_bytes(name);
    names_.insert(names_.end(), bytes.begin(), bytes.end());
    return kept;
  }

  void read_metadata() {
    std::set<std::string> keys;
    for_each_member([&] {
      std::string key(read_key());
      if (!keys.insert(key).second) fail_of_doubles();
      header_.metadata.emplace_back(std::move(key), read_text());
    });
  }

  void read_entry(SafetensorsEntry& entry) {
    Described described;
    for_each_member([&] {
      const std::string_view key = read_key();
      if (key == "dtype") {
        note(described.type);
        entry.stored_type = type_named(read_text());
      } else if (key == "shape") {
        note(described.shape);
        entry.shape = read_shape();
      } else if (key == "data_offsets") {
        note(described.place);
        range_.clear();
        read_numbers(range_);
      } else {
        fail(fmt::format("an unknown key '{}' of {}", key, name_of(entry)));
      }
    });
    if (!described.place || range_.size() != 2 || range_[0] > range_[1] ||
        static_cast<std::uint64_t>(range_[1]) > header_.data.size) {
      fail(fmt::format("{} has no place in the file", name_of(entry)));
    }
    entry.place = {header_.data.offset + static_cast<std::uint64_t>(range_[0]),
                   static_cast<std::uint64_t>(range_[1] - range_[0])};
    require_size(entry);
  }

  /// One of the last few where it is the same: models have few shapes, and very many tensors.
  SafetensorsRun read_shape() {
    const auto sizes = [this](SafetensorsRun run) { return std::span(header_.sizes).subspan(run.first, run.count); };
    SafetensorsRun shape{static_cast<std::uint32_t>(header_.sizes.size()), 0};
    shape.count = read_numbers(header_.sizes);
    const auto known = std::ranges::find_if(
        last_shapes_, [&](SafetensorsRun other) { return std::ranges::equal(sizes(other), sizes(shape)); });
    if (known != last_shapes_.end()) {
      header_.sizes.resize(shape.first);
      return *known;
    }
    last_shapes_[next_shape_++ % last_shapes_.size()] = shape;
    return shape;
  }

  /// Appends them; how many there are.
  std::uint32_t read_numbers(std::vector<std::int64_t>& to) {
    if (!lexer_.take('[')) fail("no list where one should stand");
    if (lexer_.take(']')) return 0;
    std::uint32_t count = 0;
    do {
      if (++count > limits::max_tensor_dimensions) fail("a list that is too long");
      to.push_back(read_number());
    } while (lexer_.take(','));
    lexer_.require(']', "a comma or the end should stand here");
    return count;
  }

  std::int64_t read_number() {
    lexer_.skip_space();
    const char first = lexer_.here();
    if (first < '0' || first > '9') fail("no whole number");
    const JsonLexer::Number number = lexer_.number();
    std::int64_t value = 0;
    const char* end = number.text.data() + number.text.size();
    const auto parsed = std::from_chars(number.text.data(), end, value);
    if (number.is_float || parsed.ec != std::errc() || parsed.ptr != end) fail("no whole number");
    return value;
  }

  /// Nothing about an element that tare does not know.
  void require_size(const SafetensorsEntry& entry) const {
    if (entry.type().size == 0) return;
    std::uint64_t bytes = entry.type().size;
    for (const std::int64_t size : header_.shape(entry)) {
      if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) bytes = entry.place.size + 1;
      if (bytes > entry.place.size) break;
    }
    if (bytes == entry.place.size) return;
    fail(fmt::format("{} has {} bytes, and not those that its shape says", name_of(entry), entry.place.size));
  }

  /// A million hashes sort sooner than a table of them fills. Names that share one are told apart as texts.
  void require_distinct() const {
    std::vector<std::uint64_t> hashes;
    hashes.reserve(header_.entries.size());
    for (const SafetensorsEntry& entry : header_.entries) hashes.push_back(KeyedHash()(header_.name(entry)));
    std::sort(hashes.begin(), hashes.end());
    if (std::adjacent_find(hashes.begin(), hashes.end()) == hashes.end()) return;
    std::set<std::string_view> names;
    for (const SafetensorsEntry& entry : header_.entries) {
      if (!names.insert(header_.name(entry)).second) fail_of_doubles();
    }
  }

  /// What an entry has said already.
  struct Described {
    bool type = false, shape = false, place = false;
  };
  void note(bool& is_described) const {
    if (is_described) fail_of_doubles();
    is_described = true;
  }

  [[nodiscard]] std::string_view name_of(const SafetensorsEntry& entry) const {
    return as_text(ByteView(names_).subspan(entry.name.first, entry.name.count));
  }
  [[noreturn]] void fail_of_doubles() const { fail("a name that is there twice"); }
  [[noreturn]] void fail(std::string_view problem) const {
    throw Error(Status::corrupt, fmt::format("{}: {}", name_, problem), "the file is damaged; take another copy");
  }

  std::string name_;
  std::shared_ptr<Budget> budget_;
  const Bytes& text_;
  JsonLexer lexer_;
  std::string decoded_;  ///< of a text with escapes
  std::vector<std::int64_t> range_;
  std::array<SafetensorsRun, 8> last_shapes_{};
  std::size_t next_shape_ = 0;
  Bytes names_;
  SafetensorsHeader header_;
};

}  // namespace

SafetensorsHeader SafetensorsHeader::of(const SafetensorsEntry& entry) const {
  const auto own = shape(entry);
  SafetensorsHeader one{{entry}, {}, entry.place, {}, names, {own.begin(), own.end()}};
  one.entries.front().shape.first = 0;
  return one;
}

SafetensorsHeader read_safetensors_header(const Source& source) {
  const Bytes prefix = source.read({0, safetensors_length_size});
  const auto length = load_le<std::uint64_t>(prefix.data());
  if (length > limits::max_safetensors_header_bytes) {
    throw Error(
        Status::refused, fmt::format("{}: a safetensors header of {} bytes", source.name(), length),
        fmt::format("the format allows {}: its own reader takes no such file", limits::max_safetensors_header_bytes));
  }
  const Bytes text = source.read({safetensors_length_size, length});
  return HeaderReader(source, text).read();
}

}  // namespace tare
