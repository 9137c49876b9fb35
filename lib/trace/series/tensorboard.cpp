#include "lib/trace/series/tensorboard.hpp"

#include <algorithm>
#include <bit>
#include <charconv>

#include "lib/base/crc32c.hpp"
#include "lib/base/text.hpp"
#include "lib/trace/series/wire.hpp"

namespace tare {

namespace {

constexpr std::size_t record_header_bytes = 12, record_footer_bytes = 4;
constexpr std::uint64_t largest_scalar_event = std::uint64_t{1} << 20;  // larger ones hold images and the like
constexpr std::size_t rows_open = 4;  // tags of one step come near each other, with others between

bool header_holds(ByteView header) {
  return masked_crc32c(header.first(8)) == load_le<std::uint32_t>(header.data() + 8);
}

struct Scalar {
  std::string_view tag;
  std::optional<double> value;
};

/// A float tensor of one element: TensorFlow 2's form.
std::optional<double> tensor_value(ByteView tensor) {
  constexpr std::uint64_t type_float = 1, type_double = 2;
  std::uint64_t type = 0;
  std::optional<double> value;
  while (const auto field = take_field(tensor)) {
    if (field->number == 1 && !field->is_run) type = field->value;
    const bool is_content = field->number == 4 && field->is_run;
    if (is_content && type == type_float && field->run.size() == 4) value = load_le<float>(field->run.data());
    if (is_content && type == type_double && field->run.size() == 8) value = load_le<double>(field->run.data());
    if (field->number == 5) {  // float_val, packed or not
      if (field->is_run && field->run.size() == 4) value = load_le<float>(field->run.data());
      if (!field->is_run) value = std::bit_cast<float>(static_cast<std::uint32_t>(field->value));
    }
    if (field->number == 6) {  // double_val
      if (field->is_run && field->run.size() == 8) value = load_le<double>(field->run.data());
      if (!field->is_run) value = std::bit_cast<double>(field->value);
    }
  }
  return value;
}

Scalar scalar_of(ByteView value) {
  Scalar scalar;
  while (const auto field = take_field(value)) {
    if (field->number == 1 && field->is_run) scalar.tag = as_text(field->run);
    if (field->number == 2 && !field->is_run) {
      scalar.value = std::bit_cast<float>(static_cast<std::uint32_t>(field->value));
    }
    if (field->number == 8 && field->is_run) scalar.value = tensor_value(field->run);
  }
  return scalar;
}

void take_event(ByteView event, std::uint64_t record, Series& series, OpenRows& rows) {
  constexpr std::uint64_t start = 1;
  std::int64_t step = 0;
  ByteView summary;
  bool is_start = false;
  while (const auto field = take_field(event)) {
    if (field->number == 2 && !field->is_run) step = static_cast<std::int64_t>(field->value);
    if (field->number == 5 && field->is_run) summary = field->run;
    if (field->number == 7 && field->is_run) {
      ByteView log = field->run;
      while (const auto status = take_field(log))
        is_start = is_start || (status->number == 1 && status->value == start);
    }
  }
  if (is_start) {
    rows.flush(series);
    series.restart(step);
  }
  while (const auto field = take_field(summary)) {
    if (field->number != 1 || !field->is_run) continue;
    const Scalar scalar = scalar_of(field->run);
    if (scalar.value && series.key(scalar.tag).role != KeyRole::none)
      rows.put(step, record, scalar.tag, *scalar.value, series);
  }
}

/// Exactly `to`, as far as there is so much.
std::size_t fill(ByteStream& stream, std::span<std::byte> to) {
  std::size_t size = 0;
  while (size < to.size()) {
    const std::size_t more = stream.read(to.subspan(size));
    if (more == 0) break;
    size += more;
  }
  return size;
}

/// How long the record at `at` is, with its frame, if it is whole and its checksums hold.
std::optional<std::uint64_t> whole_record(const Source& file, std::uint64_t at) {
  constexpr std::uint64_t frame = record_header_bytes + record_footer_bytes;
  if (file.size() - at < frame) return {};
  const Bytes header = file.read({at, record_header_bytes});
  const auto size = load_le<std::uint64_t>(header.data());
  if (!header_holds(header) || size > file.size() - at - frame) return {};
  if (size > largest_scalar_event) return size + frame;
  const Bytes event = file.read({at + record_header_bytes, size + record_footer_bytes});
  const bool holds = masked_crc32c(ByteView(event).first(static_cast<std::size_t>(size))) ==
                     load_le<std::uint32_t>(event.data() + size);
  return holds ? std::optional(size + frame) : std::nullopt;
}

bool hop(ByteStream& stream, std::uint64_t bytes) {
  Bytes piece(std::size_t{64} << 10);
  while (bytes > 0) {
    const std::size_t done = fill(stream, std::span(piece).first(std::min<std::uint64_t>(bytes, piece.size())));
    if (done == 0) return false;
    bytes -= done;
  }
  return true;
}

}  // namespace

bool starts_like_event_file(ByteView head) {
  return head.size() >= record_header_bytes && header_holds(head);
}

std::uint64_t event_file_time(std::string_view path) {
  constexpr std::string_view marker = "tfevents.";
  const std::size_t at = path.rfind(marker);
  std::uint64_t time = 0;
  if (at != path.npos) std::from_chars(path.data() + at + marker.size(), path.data() + path.size(), time);
  return time;
}

void OpenRows::open(const std::string& path, Series& series) {
  if (path != path_) flush(series);
  path_ = path;
  series.open(path);
}

void OpenRows::put(std::int64_t step, std::uint64_t record, std::string_view tag, double value, Series& series) {
  const auto find = [&] { return std::ranges::find(rows_, step, [](const Row& open) { return open.row.step; }); };
  auto row = find();
  if (row != rows_.end() && row->tags.find('\n' + std::string(tag) + '\n') != std::string::npos) {
    flush(series);  // the same tag and step again: another start of the run
    row = find();
  }
  if (row == rows_.end()) {
    if (rows_.size() == rows_open) pop(series);
    row = rows_.insert(rows_.end(), {{.step = step, .line = record}, "\n"});
  }
  row->tags.append(tag).append("\n");
  series.put(row->row, tag, value);
}

void OpenRows::flush(Series& series) {
  while (!rows_.empty()) pop(series);
}

void OpenRows::pop(Series& series) {
  series.add(rows_.front().row);
  rows_.pop_front();
}

WholePart whole_event_records(const Source& file, std::uint64_t begin) {
  WholePart part{begin};
  while (const auto size = whole_record(file, part.end)) {
    part.end += *size;
    ++part.count;
  }
  return part;
}

void read_event_file(Input& input, Series& series, OpenRows& rows) {
  rows.open(input.path(), series);
  Bytes buffer(record_header_bytes);
  for (std::uint64_t record = input.slice().before;; ++record) {
    const auto problem = [&](std::string_view code, std::string_view what) {
      series.warn(code, escaped(input.path()) + ": record " + std::to_string(record) + " " + std::string(what) +
                            ": what comes before is told");
    };
    buffer.resize(record_header_bytes);
    const std::size_t got = fill(input, buffer);
    if (got == 0) break;
    if (got < record_header_bytes) return problem("truncated", "is cut off");
    if (!header_holds(buffer)) return problem("crc", "has a length that its CRC contradicts");
    const auto size = load_le<std::uint64_t>(buffer.data());
    if (size > std::uint64_t{1} << 62) return problem("crc", "has a length that no file has");
    if (size > largest_scalar_event) {
      if (!hop(input, size + record_footer_bytes)) return problem("truncated", "is cut off");
      continue;
    }
    buffer.resize(static_cast<std::size_t>(size) + record_footer_bytes);
    if (fill(input, buffer) < buffer.size()) return problem("truncated", "is cut off");
    const ByteView event = ByteView(buffer).first(static_cast<std::size_t>(size));
    if (masked_crc32c(event) != load_le<std::uint32_t>(buffer.data() + size)) {
      return problem("crc", "has contents that its CRC contradicts");
    }
    take_event(event, record, series, rows);
  }
  if (const std::string why = input.problem(); !why.empty()) {
    series.warn("truncated", escaped(input.path()) + ": " + why);
  }
}

}  // namespace tare
