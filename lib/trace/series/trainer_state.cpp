#include "lib/trace/series/trainer_state.hpp"

#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <utility>

#include "lib/base/file_path.hpp"
#include "lib/base/text.hpp"
#include "lib/base/utf8.hpp"
#include "lib/base/whole_number.hpp"
#include "lib/trace/series/json_line.hpp"

namespace tare {
namespace {

constexpr std::string_view history_key = "log_history", step_key = "global_step";
constexpr std::size_t longest_row = std::size_t{64} << 10;
constexpr std::size_t longest_key = 64;
constexpr std::size_t read_at_once = std::size_t{64} << 10;

/// The rows of the document's list, however it is laid out: Hugging Face indents by two blanks and ends lines in "\n",
/// and whoever saves it again need not.
class Rows {
 public:
  explicit Rows(Series& series) : series_(series) {}

  void take(char c) {
    if (c == '\n') ++line_;
    if (is_text_) return take_text(c);
    if (c == '{' || c == '[') open(c);
    keep(c);
    if (c == '"') begin_text();
    if ((c == '}' || c == ']') && depth_ > 0) close();
  }

 private:
  static constexpr int in_document = 1, in_list = 2, in_row = 3;

  void open(char c) {
    ++depth_;
    if (depth_ == in_list) is_history_ = c == '[' && key_ == history_key;
    if (depth_ == in_row && is_history_) row_line_ = line_;
  }

  void close() {
    const bool is_row = is_history_ && depth_ == in_row;
    --depth_;
    if (is_row) end_row();
  }

  void begin_text() {
    is_text_ = true;
    if (depth_ == in_document) key_.clear();
  }

  void take_text(char c) {
    keep(c);
    const bool is_plain = !std::exchange(is_escaped_, false);
    is_escaped_ = is_plain && c == '\\';
    is_text_ = !is_plain || c != '"';
    if (is_text_ && depth_ == in_document && key_.size() < longest_key) key_.push_back(c);
  }

  void keep(char c) {
    const bool is_of_row = is_history_ && depth_ >= in_row;
    if (is_of_row && c != '\n' && c != '\r' && row_.size() < longest_row) row_.push_back(c);
  }

  void end_row() {
    SeriesRow row{.line = row_line_};
    bool is_of_training = false;
    const bool is_read = read_json_line(row_, [&](std::string_view name, JsonNumber number) {
      const KeyRole role = series_.key(name).role;
      if (name == "step") row.step = whole_number(number.value);
      if (role != KeyRole::step && role != KeyRole::epoch) series_.put(row, name, number.value, number.is_flag);
      is_of_training = is_of_training || name == "loss";
    });
    row_.clear();
    if (!is_read) return series_.broken("JSON", row_line_);
    if (is_of_training) series_.add(row);
  }

  Series& series_;
  std::string key_;  ///< the last text of the document's own level
  std::string row_;  ///< as far as it is read
  std::uint64_t line_ = 1, row_line_ = 0;
  int depth_ = 0;
  bool is_text_ = false, is_escaped_ = false, is_history_ = false;
};

std::string_view behind_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

/// What stands behind `"key":`; nothing where the text has no such key.
std::optional<std::string_view> value_at_key(std::string_view text, std::string_view key) {
  const std::string quoted = '"' + std::string(key) + '"';
  const std::size_t at = text.find(quoted);
  if (at == text.npos) return {};
  const std::string_view behind = behind_blanks(text.substr(at + quoted.size()));
  if (!behind.starts_with(':')) return {};
  return behind_blanks(behind.substr(1));
}

}  // namespace

bool starts_like_trainer_state(ByteView head) {
  const std::string_view text = behind_blanks(without_byte_order_mark(as_text(head)));
  if (!text.starts_with('{') || !behind_blanks(text.substr(1)).starts_with('"')) return false;
  return value_at_key(text, history_key).value_or("").starts_with('[') && value_at_key(text, step_key);
}

std::optional<std::int64_t> last_step_of_trainer_state(ByteView head) {
  const std::string_view text = value_at_key(as_text(head), step_key).value_or("");
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
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
  std::string buffer(read_at_once, '\0');
  while (const std::size_t size = input.read(std::as_writable_bytes(std::span(buffer)))) {
    for (const char c : std::string_view(buffer).substr(0, size)) rows.take(c);
  }
  if (const std::string why = input.problem(); !why.empty()) {
    series.warn("truncated", escaped(input.path()) + ": " + why);
  }
}

}  // namespace tare
