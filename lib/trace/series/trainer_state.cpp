#include "lib/trace/series/trainer_state.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "lib/base/file_path.hpp"
#include "lib/base/text.hpp"
#include "lib/base/whole_number.hpp"
#include "lib/trace/series/json_line.hpp"
#include "lib/trace/text/scan.hpp"

namespace tare {
namespace {

constexpr std::string_view history_begin = "\"log_history\": [";
constexpr std::string_view step_key = "\"global_step\": ";
constexpr std::size_t longest_row = std::size_t{64} << 10;

/// The rows of a list in a document that is written with an indentation: each begins and ends in a line of its own.
class Rows {
 public:
  explicit Rows(Series& series) : series_(series) {}

  void take(const Line& line) {
    const std::size_t indentation = std::min(line.text.find_first_not_of(" \t"), line.text.size());
    const std::string_view text = line.text.substr(indentation);
    if (!is_inside_) {
      is_inside_ = text.starts_with(history_begin) && text.size() == history_begin.size();
    } else if (row_.empty()) {
      is_inside_ = text == "{";
      if (!is_inside_) return;
      begin_ = {indentation, line.number};
      row_ = text;
    } else {
      if (row_.size() < longest_row) row_.append(text);
      if (indentation == begin_.indentation && text.starts_with("}")) end();
    }
  }

 private:
  struct Begin {
    std::size_t indentation = 0;
    std::uint64_t line = 0;
  };

  void end() {
    if (row_.ends_with(',')) row_.pop_back();
    SeriesRow row{.line = begin_.line};
    bool is_of_training = false;
    const bool is_read = read_json_line(row_, [&](std::string_view name, JsonNumber number) {
      const KeyRole role = series_.key(name).role;
      if (name == "step") row.step = whole_number(number.value);
      if (role != KeyRole::step && role != KeyRole::epoch) series_.put(row, name, number.value, number.is_flag);
      is_of_training = is_of_training || name == "loss";
    });
    row_.clear();
    if (!is_read) return series_.broken("JSON", begin_.line);
    if (is_of_training) series_.add(row);
  }

  Series& series_;
  std::string row_;  ///< as far as it is read
  Begin begin_;
  bool is_inside_ = false;
};

}  // namespace

bool starts_like_trainer_state(ByteView head) {
  const std::string_view text = as_text(head);
  return text.starts_with("{\n") && text.find(history_begin) != text.npos && text.find(step_key) != text.npos;
}

std::optional<std::int64_t> last_step_of_trainer_state(ByteView head) {
  const std::string_view text = as_text(head);
  const std::size_t at = text.find(step_key);
  if (at == text.npos) return {};
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(text.data() + at + step_key.size(), text.data() + text.size(), step);
  return error == std::errc() ? std::optional(step) : std::nullopt;
}

std::string_view folder_of_trainer(std::string_view path) {
  std::string_view folder = folder_prefix(path);
  folder.remove_suffix(folder.empty() ? 0 : 1);
  return file_name(folder).starts_with("checkpoint-") ? folder_prefix(folder) : folder_prefix(path);
}

void read_trainer_state(Input& input, Series& series) {
  series.open(input.path());
  Rows rows(series);
  scan_lines(input, WhichLines::all, [&](const Line& line) { return rows.take(line), false; });
  if (const std::string why = input.problem(); !why.empty()) {
    series.warn("truncated", escaped(input.path()) + ": " + why);
  }
}

}  // namespace tare
