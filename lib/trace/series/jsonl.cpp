#include "lib/trace/series/jsonl.hpp"

#include <algorithm>

#include "lib/base/text.hpp"
#include "lib/base/utf8.hpp"
#include "lib/trace/series/json_line.hpp"
#include "lib/trace/series/keys.hpp"
#include "lib/trace/series/row_place.hpp"
#include "lib/trace/text/scan.hpp"
#include "lib/trace/text/unwrapped.hpp"

namespace tare {

namespace {

/// A number that a scale or a step could be.
bool tells_numbers(std::string_view line) {
  bool has_one = false;
  const bool is_object = read_json_line(line, [&](std::string_view path, JsonNumber) {
    const KeyRole role = key_of(path).role;
    has_one = has_one || role == KeyRole::scale || role == KeyRole::step;
  });
  return is_object && has_one;
}

struct Keys {
  std::vector<std::pair<std::string, JsonNumber>> all;

  [[nodiscard]] bool has(std::string_view name) const {
    return std::any_of(all.begin(), all.end(), [name](const auto& key) { return key.first == name; });
  }
};

std::string_view tell_place(const Keys& keys, const Series& series, SeriesRow& row) {
  RowPlace place;
  for (const auto& [name, number] : keys.all) {
    if (!number.is_flag) place.take(series.key(name), name, number.value);
  }
  return place.tell(row);
}

}  // namespace

bool starts_like_json_lines(ByteView head) {
  std::string_view text = without_byte_order_mark(as_text(head));
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  const std::string_view first = text.substr(0, text.find('\n'));
  if (!read_json_line(first, [](std::string_view, JsonNumber) {})) return false;
  std::string kept;
  if (unwrapped(first, kept) == first) return true;
  // A collector's lines of a log, unless numbers stand beside them.
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (tells_numbers(text.substr(0, end))) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

void read_json_lines(Input& input, Series& series) {
  series.open(input.path());
  Keys keys;
  scan_lines(input, WhichLines::all,
             [&](const Line& line) {
               constexpr std::string_view blanks = " \t";
               if (line.text.find_first_not_of(blanks) == line.text.npos) return false;
               keys.all.clear();
               const bool is_read = read_json_line(line.text, [&](std::string_view path, JsonNumber number) {
                 if (series.key(path).role != KeyRole::none || path == "data_time") keys.all.emplace_back(path, number);
               });
               if (!is_read) {
                 series.broken("JSON", line.number);
                 return false;
               }
               SeriesRow row{.line = line.number};
               const std::string_view unit = tell_place(keys, series, row);
               for (const auto& [name, number] : keys.all) series.put(row, name, number.value, number.is_flag);
               if (!row.scales.empty() && !series.is_settled()) {
                 // LoggerHook's means, and those of a whole epoch.
                 const bool is_mmengine = keys.has("data_time") && (keys.has("iter") || keys.has("epoch"));
                 series.settle(is_mmengine ? "mmengine-log" : "jsonl", is_mmengine || unit == "epoch");
                 series.count_by(unit);
               }
               series.add(row);
               return false;
             },
             {input.slice().before});
  if (const std::string why = input.problem(); !why.empty()) {
    series.warn("truncated", escaped(input.path()) + ": " + why);
  }
}

}  // namespace tare
