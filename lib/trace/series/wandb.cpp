#include "lib/trace/series/wandb.hpp"

#include <algorithm>

#include "lib/base/crc32.hpp"
#include "lib/base/read_double.hpp"
#include "lib/base/text.hpp"
#include "lib/base/whole_number.hpp"
#include "lib/trace/series/json_line.hpp"
#include "lib/trace/series/wire.hpp"

namespace tare {

namespace {

constexpr std::size_t block_bytes = std::size_t{32} << 10;
constexpr std::size_t chunk_header_bytes = 7;
constexpr std::size_t largest_record = std::size_t{4} << 20;  // of those that are kept: larger ones hold media
constexpr std::string_view magic = ":W&B";

enum ChunkType : std::uint8_t { whole = 1, first = 2, middle = 3, last = 4 };

/// LevelDB's log format with zlib's CRC-32: blocks of chunks, records of one chunk or several.
class Records {
 public:
  /// `begin`: where in the file the stream begins, in front of a record.
  Records(ByteStream& stream, std::uint64_t begin) : stream_(stream) {
    fill(block_bytes - static_cast<std::size_t>(begin % block_bytes));
    if (begin == 0) at_ = std::min(chunk_header_bytes, size_);
  }

  /// Nothing at the end, or where problem() says why not.
  std::optional<ByteView> next() {
    record_.clear();
    for (;;) {
      if (size_ - at_ < chunk_header_bytes && !next_block()) {
        if (!record_.empty() || at_ < size_) code_ = "truncated";
        return {};
      }
      const std::byte* header = block_.data() + at_;
      const auto size = load_le<std::uint16_t>(header + 4);
      const auto type = std::to_integer<std::uint8_t>(header[6]);
      if (type == 0 && size == 0) {  // the file system lost what was to come
        code_ = "truncated";
        return {};
      }
      if (size > size_ - at_ - chunk_header_bytes) {
        code_ = "truncated";
        return {};
      }
      const ByteView checked = ByteView(block_).subspan(at_ + 6, std::size_t{1} + size);
      if (crc32(checked) != load_le<std::uint32_t>(header)) {
        code_ = "crc";
        return {};
      }
      at_ += chunk_header_bytes + size;
      const ByteView data = checked.subspan(1);
      if (type == whole || type == first) record_.clear();
      if (record_.size() + data.size() <= largest_record) record_.insert(record_.end(), data.begin(), data.end());
      if (type == whole || type == last) return record_;
    }
  }

  [[nodiscard]] std::string_view problem() const { return code_; }

 private:
  void fill(std::size_t wanted) {
    block_.resize(wanted);
    size_ = 0;
    while (size_ < wanted) {
      const std::size_t more = stream_.read(std::span(block_).subspan(size_));
      if (more == 0) break;
      size_ += more;
    }
    at_ = 0;
  }

  bool next_block() {
    if (size_ < block_.size()) return false;
    fill(block_bytes);
    return size_ >= chunk_header_bytes;
  }

  ByteStream& stream_;
  Bytes block_, record_;
  std::size_t size_ = 0, at_ = 0;
  std::string_view code_;
};

std::optional<JsonNumber> number_of(std::string_view json) {
  if (json == "true" || json == "false") return JsonNumber{json == "true" ? 1.0 : 0.0, true};
  if (json.size() > 1 && json.front() == '"' && json.back() == '"') json = json.substr(1, json.size() - 2);
  double value = 0;
  const auto [end, error] = read_double(json.data(), json.data() + json.size(), value);
  if (error != std::errc() || end != json.data() + json.size() || json.empty()) return {};
  return JsonNumber{value, false};
}

struct Item {
  std::string name;
  std::string_view json;
};

Item item_of(ByteView bytes) {
  Item item;
  while (const auto field = take_field(bytes)) {
    if (!field->is_run) continue;
    if (field->number == 1) item.name = as_text(field->run);
    if (field->number == 2) item.name.append(item.name.empty() ? "" : "/").append(as_text(field->run));
    if (field->number == 16) item.json = as_text(field->run);
  }
  return item;
}

void take_history(ByteView history, std::uint64_t record, Series& series) {
  SeriesRow row{.line = record};
  while (const auto field = take_field(history)) {
    if (!field->is_run) continue;
    if (field->number == 2) {
      ByteView step = field->run;
      if (const auto number = take_field(step); number && number->number == 1) {
        row.step = static_cast<std::int64_t>(number->value);
      }
    }
    if (field->number != 1) continue;
    const Item item = item_of(field->run);
    const auto number = number_of(item.json);
    if (!number) continue;
    if (item.name == "_step") row.step = whole_number(number->value);
    series.put(row, item.name, number->value, number->is_flag);
  }
  series.add(row);
}

}  // namespace

WholePart whole_wandb_records(const Source& file, std::uint64_t begin) {
  WholePart part{begin};
  Bytes header(chunk_header_bytes);
  std::uint64_t at = std::max<std::uint64_t>(begin, chunk_header_bytes);
  for (;;) {
    const std::uint64_t room = block_bytes - at % block_bytes;
    if (room < chunk_header_bytes) at += room;
    if (file.size() < at + chunk_header_bytes) return part;
    file.read(at, header);
    const auto size = load_le<std::uint16_t>(header.data() + 4);
    const auto type = std::to_integer<std::uint8_t>(header[6]);
    if (type == 0 || file.size() - at - chunk_header_bytes < size) return part;
    const Bytes checked = file.read({at + 6, std::uint64_t{1} + size});
    if (crc32(checked) != load_le<std::uint32_t>(header.data())) return part;
    at += chunk_header_bytes + size;
    if (type != whole && type != last) continue;
    part.end = at;
    ++part.count;
  }
}

bool starts_like_wandb(ByteView head) {
  return as_text(head).starts_with(magic);
}

void read_wandb(Input& input, Series& series) {
  constexpr std::uint64_t history = 2;
  series.open(input.path());
  Records records(input, input.slice().begin);
  std::uint64_t number = input.slice().before;
  while (auto record = records.next()) {
    ++number;
    while (const auto field = take_field(*record)) {
      if (field->number == history && field->is_run) take_history(field->run, number, series);
    }
  }
  if (!records.problem().empty()) {
    series.warn(records.problem(), escaped(input.path()) + ": behind record " + std::to_string(number) +
                                       " it is damaged or cut off: what comes before is told");
  }
}

}  // namespace tare
