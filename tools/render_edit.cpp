#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "lib/base/text.hpp"
#include "lib/report/pending_text.hpp"
#include "tools/render.hpp"

using namespace tare;

namespace {

std::string hex(ByteView bytes) {
  static constexpr std::size_t most_shown = 24;
  std::string text;
  for (std::size_t i = 0; i < bytes.size() && i < most_shown; ++i) {
    text += fmt::format("{:02x}", std::to_integer<unsigned>(bytes[i]));
  }
  return bytes.size() > most_shown ? fmt::format("{}… ({} bytes)", text, bytes.size()) : text;
}

std::string with_power(const Value& value) {
  const std::string power = power_text(value);
  return power.empty() ? value_text(value) : fmt::format("{} ({})", value_text(value), power);
}

std::string side(const std::optional<Value>& value) {
  return value ? with_power(*value) : "nothing";
}

std::string typed_side(const std::optional<Value>& value) {
  return value ? fmt::format("{} {}", escaped(value->type), value_text(*value)) : "nothing";
}

/// Lines that say the same of many places: a model has thousands of layers. All of a kind that has few, the first ones
/// of others.
class AlikeLines {
 public:
  void add(const std::string& kind, std::string line) {
    const auto [known, is_new] = numbers_.try_emplace(kind, kinds_.size());
    if (is_new) kinds_.emplace_back();
    Lines& lines = kinds_[known->second];
    if (lines.count++ < few) lines.first.push_back(std::move(line));
  }

  [[nodiscard]] std::string text() const {
    constexpr std::size_t named = 4;
    std::string text;
    for (const Lines& lines : kinds_) {
      const std::size_t shown = lines.count <= few ? lines.count : named;
      for (std::size_t i = 0; i < shown; ++i) text += lines.first[i];
      if (shown < lines.count) text += fmt::format("    and so in {} more places\n", lines.count - shown);
    }
    return text;
  }

 private:
  static constexpr std::size_t few = 12;

  struct Lines {
    std::vector<std::string> first;  ///< as many as may be shown
    std::size_t count = 0;
  };

  std::map<std::string, std::size_t> numbers_;
  std::vector<Lines> kinds_;  ///< in the order of their first
};

/// A value of two; where they are arrays of different shapes that goes before, because they often begin alike.
std::string sized_side(const Value& value, const Value& other) {
  const auto* array = std::get_if<PackedArray>(&value.data);
  const auto* beside = std::get_if<PackedArray>(&other.data);
  if (array == nullptr || beside == nullptr || array->shape() == beside->shape()) return with_power(value);
  return fmt::format("{} {}", fmt::join(array->shape(), "x"), with_power(value));
}

std::string field_line(const Terminal& terminal, const PlannedField& field) {
  const std::size_t count = field.files.size();
  const bool is_kept = same(field.before, field.after);
  return fmt::format(
      "{}  {}  {}  in {} file{}{}\n", terminal.styled(Style::strong, escaped(field.field)),
      is_kept ? fmt::format("is {} already", with_power(field.before))
              : fmt::format("{} -> {}", sized_side(field.before, field.after), sized_side(field.after, field.before)),
      field.path.empty() ? "(the whole file)" : escaped(field.path), count, count == 1 ? "" : "s",
      field.note.empty() ? "" : "; its type changes: " + escaped(field.note));
}

/// What is done to bytes, without the names of layers and files that it is done to.
std::string kind_of(std::string_view meaning) {
  std::string kind;
  while (!meaning.empty()) {
    const std::string_view word = meaning.substr(0, meaning.find(' '));
    if (word.find_first_of("./_") == word.npos) kind.append(word).push_back(' ');
    meaning.remove_prefix(std::min(word.size() + 1, meaning.size()));
  }
  return kind;
}

std::string changed_bytes(const FileChange& change) {
  AlikeLines patches;
  for (const Patch& patch : change.patches) {
    patches.add(kind_of(patch.meaning), fmt::format("  at {:<10} {} -> {}  {}\n", patch.offset, hex(patch.before),
                                                    hex(patch.after), escaped(patch.meaning)));
  }
  std::string text = patches.text();
  if (const auto& append = change.append) {
    text += fmt::format("  at {:<10} {} bytes behind the end: {}\n", append->old_size,
                        append->body.size() + append->commit.size(), escaped(append->meaning));
  }
  if (const auto& splice = change.splice) {
    text += fmt::format("  at {:<10} {} bytes become {}: {}; {}\n", splice->offset, splice->before.size(),
                        splice->after.size(), escaped(splice->meaning),
                        change.patches.empty() ? "the file is written anew beside and renamed" : "the file ends there");
  }
  return text;
}

/// The same for the files of all ranks.
std::string meaning_of(const FileChange& change) {
  std::string meaning;
  for (const Patch& patch : change.patches) meaning += patch.meaning + '\n';
  if (change.append) meaning += change.append->meaning + '\n';
  if (change.splice) meaning += change.splice->meaning;
  return meaning;
}

}  // namespace

std::string render_fields(const Terminal& terminal, const EditPlan& plan) {
  AlikeLines lines;
  for (const PlannedField& field : plan.fields) {
    const bool is_kept = same(field.before, field.after);
    lines.add(field.field + (is_kept ? " kept " : " ") + field.note, field_line(terminal, field));
  }
  return lines.text();
}

std::string render_bytes(const Terminal&, const EditPlan& plan) {
  AlikeLines files;
  for (const FileEdit& edit : plan.files) {
    files.add(meaning_of(edit.change), escaped(edit.path) + "\n" + changed_bytes(edit.change));
  }
  return files.text();
}

namespace {

std::string_view seal_of(const HistoryEntry& entry) {
  const bool is_doubtful = !entry.is_own && entry.state != HistoryState::damaged;
  return is_doubtful ? "  (not sealed with your key: only what somebody says)" : "";
}

/// Safe for a terminal; backslashes stay as they are: in a word of a shell they are a part of its quotes.
std::string shown_command(std::string_view command) {
  const std::size_t backslash = command.find('\\');
  if (backslash == command.npos) return escaped(command);
  return escaped(command.substr(0, backslash)) + '\\' + shown_command(command.substr(backslash + 1));
}

}  // namespace

std::string render_history_entry(const Terminal& terminal, const HistoryEntry& entry) {
  const std::string state = entry.state == HistoryState::undone    ? "undone " + entry.undone_when
                            : entry.state == HistoryState::damaged ? "damaged: cannot be undone"
                                                                   : "applied";
  const std::size_t count = entry.files.size();
  std::string text =
      fmt::format("{}  {}  {}  {} file{}  {}{}\n", terminal.styled(Style::strong, fmt::format("#{}", entry.number)),
                  escaped(entry.id), entry.when, count, count == 1 ? "" : "s", state, seal_of(entry));
  if (!entry.origin.command.empty()) {
    text += fmt::format("    {}@{}: {}\n", escaped(entry.origin.user), escaped(entry.origin.host),
                        shown_command(entry.origin.command));
  }
  text += fmt::format("    {}\n", render_files(entry.folder, entry.files));
  // The same change in a thousand rank files is one line.
  std::set<std::string> known;
  AlikeLines lines;
  for (const FieldEdit& edit : entry.fields) {
    std::string line = fmt::format("    {}  {} -> {}  {}\n", escaped(edit.field), escaped(edit.before),
                                   escaped(edit.after), escaped(edit.place));
    if (known.insert(line).second) lines.add(edit.field, std::move(line));
  }
  return text + lines.text();
}

std::string render_differences(const Terminal& terminal, const std::vector<Difference>& differences) {
  std::string text;
  for (const Difference& difference : differences) {
    const std::string what = difference.field.empty() ? "the scaler" : escaped(difference.field);
    const bool same_words = side(difference.a) == side(difference.b);
    text += fmt::format("{}  {}: {} -> {}\n", difference.path.empty() ? "(the whole file)" : escaped(difference.path),
                        terminal.styled(Style::strong, what),
                        terminal.styled(Style::bad, same_words ? typed_side(difference.a) : side(difference.a)),
                        terminal.styled(Style::good, same_words ? typed_side(difference.b) : side(difference.b)));
  }
  return text;
}

std::string render_pending(const Pending& pending) {
  return "warning: " + pending_text(pending);
}
