#include "lib/trace/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <iterator>
#include <map>
#include <set>

#include "lib/base/distant_files.hpp"
#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/letters.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/parallel.hpp"
#include "lib/base/text.hpp"
#include "lib/base/utf8.hpp"
#include "lib/checkpoint/names.hpp"
#include "lib/container/safetensors/safetensors.hpp"
#include "lib/trace/one_save.hpp"
#include "lib/trace/repeated_files.hpp"
#include "lib/trace/saved_step.hpp"
#include "lib/trace/series/csv.hpp"
#include "lib/trace/series/jsonl.hpp"
#include "lib/trace/series/mlflow.hpp"
#include "lib/trace/series/tensorboard.hpp"
#include "lib/trace/series/trainer_state.hpp"
#include "lib/trace/series/wandb.hpp"
#include "lib/trace/text/scan.hpp"
#include "lib/trace/text/unwrapped.hpp"

namespace tare {

namespace {

/// In a folder, files with these endings are code, settings and prose, which quote the lines of logs: they are read
/// where they are asked for.
constexpr auto quoting_endings = std::to_array<std::string_view>(
    {".py",  ".ipynb", ".pyi", ".sh", ".md",  ".rst", ".html", ".yaml", ".yml",   ".toml",
     ".ini", ".cfg",   ".c",   ".cc", ".cpp", ".h",   ".hpp",  ".cu",   ".patch", ".diff"});

/// Logs hold the odd byte that is no text; other files are full of them.
bool is_text(ByteView head) {
  constexpr std::size_t looked_at = 4096;
  const std::string_view text = as_text(head.first(std::min(head.size(), looked_at)));
  const auto is_odd = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\b' && c != '\f' && c != '\x1b';
  };
  const auto odd = static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_odd));
  constexpr std::size_t one_in = 20;
  return !text.empty() && odd * one_in <= text.size();
}

/// A document of JSON that goes over many lines: a configuration, a state. Of an export of a log each line is a member
/// of its own, and is read as a log's.
bool is_json_document(ByteView head) {
  std::string_view text = without_byte_order_mark(as_text(head));
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  const std::string_view first = text.substr(0, text.find_first_of("\r\n"));
  return (first == "{" || first == "[") && !wraps_lines(text);
}

/// The first date and time in a log, as digits.
std::string first_time(std::string_view text) {
  constexpr std::string_view shape = "dddd-dd-dd dd:dd:dd";
  for (std::size_t at = 0; at + shape.size() <= text.size(); ++at) {
    if (text[at] != '1' && text[at] != '2') continue;
    std::string digits;
    std::size_t i = 0;
    for (; i < shape.size(); ++i) {
      const char c = text[at + i];
      const bool fits = shape[i] == 'd'   ? is_digit(c)
                        : shape[i] == '-' ? c == '-' || c == '/'
                        : shape[i] == ' ' ? c == ' ' || c == 'T'
                                          : c == shape[i];
      if (!fits) break;
      if (shape[i] == 'd') digits.push_back(c);
    }
    if (i == shape.size()) return digits;
  }
  return {};
}

bool is_quoting(std::string_view name) {
  return std::find(quoting_endings.begin(), quoting_endings.end(), extension(name)) != quoting_endings.end();
}

class Walk {
 public:
  explicit Walk(const TraceOptions& options) : options_(options) {}

  void take(const std::string& path) {
    if (path == "-" && options_.standard_input) return add(path, true);
    switch (options_.files->type(path)) {
      case FileType::folder:
        return visit(path, 0);
      case FileType::absent:
        throw Error(Status::not_found,
                    (path.empty() ? "the empty path" : escaped(path)) + ": there is no such file or folder", {},
                    ENOENT);
      default:
        return add(path, true);
    }
  }

  [[nodiscard]] std::vector<RunPath> found() && { return std::move(found_); }

 private:
  void add(const std::string& path, bool is_given) {
    if (taken_.insert(path).second) found_.push_back({path, is_given});
  }

  /// A checkpoint, or a folder beside the logs, that cannot be looked into is told where checkpoints are read.
  [[nodiscard]] std::vector<FileEntry> entries_of(const std::string& folder, int depth) const {
    try {
      return options_.files->list(folder);
    } catch (const Error& error) {
      const bool is_shut = error.detail == EACCES || error.detail == ENODATA;
      const bool is_told = is_shut || step_in_name(file_name(folder));
      if (error.status != Status::io || depth == 0 || !is_told) throw;
      return {};
    }
  }

  void visit(const std::string& folder, int depth) {
    std::vector<FileEntry> entries = entries_of(folder, depth);
    seen_ += entries.size();
    if (seen_ > limits::max_files) {
      throw Error(Status::refused, escaped(folder) + ": more files than tare looks through",
                  "give the run's own folder, or its logs");
    }
    std::sort(entries.begin(), entries.end(),
              [](const FileEntry& a, const FileEntry& b) { return natural_less(a.name, b.name); });
    const std::string prefix = folder.ends_with('/') ? folder : folder + '/';
    for (const auto& [name, type] : entries) {
      if (name.starts_with('.')) continue;
      if (type == FileType::file && !is_quoting(name)) add(prefix + name, false);
      if (type == FileType::folder && depth < deepest_folder) visit(prefix + name, depth + 1);
    }
  }

  const TraceOptions& options_;
  std::vector<RunPath> found_;
  std::set<std::string> taken_;
  std::size_t seen_ = 0;
};

/// "rank7" of "logs/rank_7.txt", "0" of "attempt_0/0/stdout.log": logs of other ranks tell the same once more.
std::string rank_in(std::string_view path) {
  std::string plain(path);
  for (char& c : plain) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::size_t at = plain.rfind("rank");
  if (at != plain.npos) {
    std::size_t digits = at + 4;
    while (digits < plain.size() && (plain[digits] == '_' || plain[digits] == '-')) ++digits;
    std::size_t end = digits;
    while (end < plain.size() && is_digit(plain[end])) ++end;
    if (end > digits) return plain.substr(digits, end - digits);
  }
  const std::string_view name = file_name(plain);
  if (name != "stdout.log" && name != "stderr.log") return {};
  const std::string_view folder = folder_prefix(plain).substr(0, folder_prefix(plain).size() - 1);
  const std::string_view last = file_name(folder);
  return !last.empty() && std::all_of(last.begin(), last.end(), is_digit) ? std::string(last) : std::string();
}

/// The number that a rotated log's name ends in: "train.log.2" is older than "train.log.1"; -1: none.
int rotation(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  if (dot == path.npos || dot + 1 == path.size() || path.size() - dot > 4) return -1;
  const std::string_view digits = path.substr(dot + 1);
  if (!std::all_of(digits.begin(), digits.end(), is_digit)) return -1;
  return std::stoi(std::string(digits));
}

bool is_earlier(const RunFile& a, const RunFile& b) {
  if (a.kind == RunFileKind::event_file) {
    const auto first = event_file_time(a.path), second = event_file_time(b.path);
    if (first != second) return first < second;
  }
  const int first = rotation(a.path), second = rotation(b.path);
  const std::string_view a_stem = first < 0 ? a.path : std::string_view(a.path).substr(0, a.path.rfind('.'));
  const std::string_view b_stem = second < 0 ? b.path : std::string_view(b.path).substr(0, b.path.rfind('.'));
  if (a_stem == b_stem && first != second) return first > second;
  return natural_less(a.path, b.path);
}

/// The last one tells what those before it told.
bool tells_all(RunFileKind kind) {
  return kind == RunFileKind::trainer_state;
}

}  // namespace

RunFile run_file(const Input& input, const TraceOptions& options) {
  RunFile file{input.path()};
  const ByteView head = input.head();
  constexpr std::string_view own_words = R"({"schema": "tare.)";  // what tare watch wrote of the run
  constexpr std::string_view database = "SQLite format 3";
  if (starts_like_event_file(head)) {
    file.kind = RunFileKind::event_file;
  } else if (starts_like_wandb(head)) {
    file.kind = RunFileKind::wandb;
  } else if (as_text(head).starts_with(database)) {
    file.kind = RunFileKind::database;
  } else if (starts_like_trainer_state(head)) {
    file.kind = RunFileKind::trainer_state;
    file.time = fmt::format("{:020}", last_step_of_trainer_state(head).value_or(0));
  } else if (!is_text(head) || starts_like_safetensors(head) || is_json_document(head) ||
             without_byte_order_mark(as_text(head)).starts_with(own_words)) {
    file.kind = RunFileKind::none;
  } else if (starts_like_json_lines(head)) {
    file.kind = RunFileKind::json_lines;
  } else if (const auto metric = mlflow_metric(file.path, head)) {
    file.kind = RunFileKind::mlflow;
    file.metric = *metric;
  } else if (starts_like_csv(head, Series("csv", options.tag))) {
    file.kind = RunFileKind::csv;
  } else {
    file.kind = RunFileKind::log;
    file.time = first_time(as_text(head));
  }
  return file;
}

bool grows(RunFileKind kind) {
  return kind != RunFileKind::none && kind != RunFileKind::database && kind != RunFileKind::trainer_state;
}

std::string group_of(const RunFile& file) {
  switch (file.kind) {
    case RunFileKind::event_file:
      return "event " + std::string(folder_prefix(file.path));
    case RunFileKind::log:
      return "log " + rank_in(file.path);
    case RunFileKind::trainer_state:
      return "trainer_state " + std::string(folder_of_trainer(file.path));
    case RunFileKind::mlflow:
      return "mlflow " + file.path.substr(0, file.path.size() - std::min(file.path.size(), file.metric.size()));
    default:
      return std::to_string(static_cast<int>(file.kind)) + std::string(file_name(file.path));
  }
}

void put_in_order(std::vector<RunFile>& files) {
  std::stable_sort(files.begin(), files.end(), is_earlier);
  const bool have_times =
      std::none_of(files.begin(), files.end(), [](const RunFile& file) { return file.time.empty(); });
  if (!have_times) return;
  std::stable_sort(files.begin(), files.end(), [](const RunFile& a, const RunFile& b) { return a.time < b.time; });
}

std::vector<RunPath> paths_of_run(std::span<const std::string> paths, const TraceOptions& options) {
  Walk walk(options);
  for (const std::string& path : paths) walk.take(path);
  return std::move(walk).found();
}

std::vector<RunFiles> files_of_run(std::span<const std::string> paths, const TraceOptions& options) {
  const std::vector<RunPath> named = paths_of_run(paths, options);
  std::vector<RunFile> looked_at(named.size());
  const auto look = [&](std::size_t i) {
    try {
      auto input = std::make_shared<Input>(named[i].path, options);
      looked_at[i] = run_file(*input, options);
      const bool may_be_copy = looked_at[i].kind != RunFileKind::none && !tells_all(looked_at[i].kind);
      if (may_be_copy) looked_at[i].first_page = as_text(input->head()).substr(0, RunFile::page_bytes);
      if (named[i].path == "-") looked_at[i].input = std::move(input);
    } catch (const Error&) {  // others of the folder may be read
      if (named[i].is_given) throw;
    }
  };
  for_each_parallel(named.size(), look, {}, most_at_once(*options.files));
  std::map<std::string, RunFiles> groups;
  for (RunFile& file : looked_at) {
    if (file.kind == RunFileKind::none) continue;
    RunFiles& group = groups[group_of(file)];
    group.kind = file.kind;
    group.files.push_back(std::move(file));
  }
  std::vector<RunFiles> found;
  for (auto& [name, group] : groups) {
    drop_repeated(group.files, options);
    put_in_order(group.files);
    if (tells_all(group.kind)) group.files.erase(group.files.begin(), std::prev(group.files.end()));
    found.push_back(std::move(group));
  }
  return found;
}

}  // namespace tare
