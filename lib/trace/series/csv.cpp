#include "lib/trace/series/csv.hpp"

#include <algorithm>
#include <array>

#include "lib/base/holds.hpp"
#include "lib/base/letters.hpp"
#include "lib/base/read_double.hpp"
#include "lib/base/text.hpp"
#include "lib/base/utf8.hpp"
#include "lib/trace/series/row_place.hpp"
#include "lib/trace/text/scan.hpp"

namespace tare {

namespace {

constexpr std::size_t most_columns = 4096;

using Cells = std::vector<std::string_view>;

/// Quotes are taken off; a separator inside them separates nothing.
Cells cells_of(std::string_view line, char separator) {
  Cells cells;
  while (cells.size() < most_columns) {
    std::size_t end = 0;
    bool is_quoted = false;
    for (; end < line.size() && (is_quoted || line[end] != separator); ++end) is_quoted ^= line[end] == '"';
    std::string_view cell = line.substr(0, end);
    while (!cell.empty() && (cell.front() == ' ' || cell.front() == '"')) cell.remove_prefix(1);
    while (!cell.empty() && (cell.back() == ' ' || cell.back() == '"')) cell.remove_suffix(1);
    cells.push_back(cell);
    if (end == line.size()) break;
    line.remove_prefix(end + 1);
  }
  return cells;
}

char separator_of(std::string_view header) {
  char best = ',';
  for (const char c : {';', '\t'}) {
    if (std::count(header.begin(), header.end(), c) > std::count(header.begin(), header.end(), best)) best = c;
  }
  return best;
}

constexpr auto words_of_truth = std::to_array<std::string_view>({"True", "true", "TRUE", "yes", "Yes"});
constexpr auto words_of_untruth = std::to_array<std::string_view>({"False", "false", "FALSE", "no", "No"});

std::optional<double> number_of(std::string_view cell, bool& is_flag) {
  const bool is_true = holds(words_of_truth, cell);
  is_flag = is_true || holds(words_of_untruth, cell);
  if (is_flag) return is_true ? 1 : 0;
  double value = 0;
  const auto [end, error] = read_double(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || cell.empty()) return {};
  return value;
}

class Table {
 public:
  Table(std::string_view header, const Series& series) : header_(header), separator_(separator_of(header)) {
    for (const std::string_view name : cells_of(header_, separator_)) {
      names_.emplace_back(name);
      keys_.push_back(series.key(name));
    }
  }

  [[nodiscard]] bool is_header(std::string_view line) const { return line == header_; }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  /// A scale, or losses of steps.
  [[nodiscard]] bool tells_a_run() const {
    const auto has = [&](KeyRole role) { return std::ranges::find(keys_, role, &Key::role) != keys_.end(); };
    return names_.size() > 1 &&
           (has(KeyRole::scale) || (has(KeyRole::loss) && (has(KeyRole::step) || has(KeyRole::epoch))));
  }

  [[nodiscard]] SeriesRow row(std::string_view line, std::uint64_t number, Series& series) const {
    SeriesRow row{.line = number};
    RowPlace place;
    const Cells cells = cells_of(line, separator_);
    for (std::size_t i = 0; i < std::min(cells.size(), keys_.size()); ++i) {
      if (keys_[i].role == KeyRole::none) continue;
      bool is_flag = false;
      const auto value = number_of(cells[i], is_flag);
      if (!value) continue;
      place.take(keys_[i], names_[i], *value);
      series.put(row, names_[i], *value, is_flag);
    }
    constexpr std::string_view epochs = "epoch";
    if (place.tell(row) == epochs && !row.scales.empty()) series.count_by(epochs);
    return row;
  }

 private:
  std::string header_;
  char separator_;
  std::vector<std::string> names_;
  std::vector<Key> keys_;
};

/// "10:03:59", and "args: 3", and a name that only ends so: a line of a log. Of a table's column the name may hold a
/// colon, too ("metrics/mAP_0.5:0.95").
bool has_prose(std::string_view cell) {
  for (std::size_t at = cell.find(':'); at != cell.npos; at = cell.find(':', at + 1)) {
    const std::string_view behind = cell.substr(at + 1);
    if (behind.empty() || behind[0] == ' ') return true;
    if (behind.size() > 2 && is_digit(behind[0]) && is_digit(behind[1]) && behind[2] == ':') return true;
  }
  return false;
}

/// As reading gives it.
std::string first_line(ByteView head) {
  std::string first;
  SourceStream stream(std::make_shared<MemorySource>("", Bytes(head.begin(), head.end())));
  scan_lines(stream, WhichLines::all, [&](const Line& line) {
    if (first.empty()) first = without_byte_order_mark(line.text);
    return false;
  });
  return first;
}

}  // namespace

bool starts_like_csv(ByteView head, const Series& series) {
  const std::string line = first_line(head);
  constexpr std::size_t longest_header = 16384;
  if (line.size() > longest_header || line.find_first_of("={|") != line.npos) return false;
  const Table table(line, series);
  return table.tells_a_run() && std::ranges::none_of(table.names(), has_prose);
}

void read_csv(Input& input, Series& series) {
  series.open(input.path());
  std::optional<Table> table;
  if (input.slice().begin > 0) table.emplace(first_line(input.head()), series);
  scan_lines(input, WhichLines::all,
             [&](const Line& line) {
               if (!table) {
                 table.emplace(without_byte_order_mark(line.text), series);
                 return false;
               }
               if (table->is_header(line.text) || line.is_cut) return false;  // a resumed run writes the header again
               series.add(table->row(line.text, line.number, series));
               return false;
             },
             {input.slice().before});
  if (const std::string why = input.problem(); !why.empty()) {
    series.warn("truncated", escaped(input.path()) + ": " + why);
  }
}

}  // namespace tare
