#include "lib/trace/checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <memory>
#include <optional>

#include "lib/base/budget.hpp"
#include "lib/base/distant_files.hpp"
#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/parallel.hpp"
#include "lib/base/text.hpp"
#include "lib/checkpoint/checkpoint.hpp"
#include "lib/checkpoint/listing.hpp"
#include "lib/checkpoint/lost_save.hpp"
#include "lib/checkpoint/names.hpp"
#include "lib/checkpoint/several_files.hpp"
#include "lib/checkpoint/unfinished_saves.hpp"
#include "lib/container/sniff.hpp"
#include "lib/dialect/rank_name.hpp"
#include "lib/trace/one_save.hpp"
#include "lib/trace/run.hpp"
#include "lib/trace/saved_step.hpp"

namespace tare {

namespace {

bool may_be_checkpoint(const FileEntry& entry) {
  const bool is_save_of_ranks = entry.type == FileType::file && is_first_rank_of_step(entry.name);
  const bool is_part = rank_name(entry.name) && !is_save_of_ranks;
  if (entry.name.starts_with('.') || is_part || !is_numbered(entry.name)) return false;
  if (is_being_written(entry.name)) return false;
  if (entry.type == FileType::folder) return true;
  return entry.type == FileType::file && !is_no_checkpoint(entry.name);
}

bool is_file_of_rank(const FileEntry& entry) {
  return entry.type == FileType::file && rank_name(entry.name);
}

/// One that its name, or what it leads to, makes a run's newest save, whatever it holds.
bool may_be_lost_save(const FileEntry& entry) {
  const bool is_place = entry.type == FileType::link || (entry.type == FileType::folder && is_numbered(entry.name));
  return is_place && !entry.name.starts_with('.');
}

std::optional<double> scale_of(const FoundScaler& scaler) {
  const Value* scale = scaler.known(Role::scale);
  const Value* number = scale == nullptr ? nullptr : scale->number();
  return number == nullptr ? std::nullopt : std::optional(number->as_double());
}

/// Whether a resumed run goes on with it.
bool is_loaded(const FoundScaler& scaler) {
  return scaler.dialect->kind == "loss_scale" && scaler.authority != Authority::no_rank;
}

/// The first loss scaler that a run goes on with; the first of all where there is none. REQUIRES: there are some.
const FoundScaler& first_scaler(const Checkpoint& checkpoint) {
  const auto first = std::find_if(checkpoint.scalers.begin(), checkpoint.scalers.end(),
                                  [](const Scaler& scaler) { return is_loaded(scaler.state()); });
  return first == checkpoint.scalers.end() ? checkpoint.scalers.front().state() : first->state();
}

/// What other scalers hold that a run goes on with, and copies of the first that disagree.
std::vector<double> other_scales(const Checkpoint& checkpoint, const FoundScaler& first) {
  std::vector<double> scales;
  for (const Scaler& scaler : checkpoint.scalers) {
    const auto scale = scale_of(scaler.state());
    if (&scaler.state() == &first || !is_loaded(scaler.state()) || !scale) continue;
    const auto is_this = [&](double other) {
      return std::bit_cast<std::uint64_t>(other) == std::bit_cast<std::uint64_t>(*scale);
    };
    if (std::none_of(scales.begin(), scales.end(), is_this)) scales.push_back(*scale);
  }
  return scales;
}

/// By its role; by its own name where another has that role, too.
void add_field(const Field& field, TraceCheckpoint& checkpoint) {
  const Value* number = field.value.number();
  if (number == nullptr) return;
  std::string key = field.role ? std::string(name(*field.role)) : field.name;
  const bool is_known = std::ranges::any_of(checkpoint.fields, [&](const auto& other) { return other.first == key; });
  checkpoint.fields.emplace_back(is_known ? field.name : std::move(key), number->as_double());
}

std::optional<Save> without_scaler(const std::string& path, const Files& files) {
  Save save;
  save.checkpoint.path = path;
  save.checkpoint.step = step_of_path(path, files);
  save.has_scaler = false;
  return save.checkpoint.step ? std::optional(std::move(save)) : std::nullopt;
}

using FindLost = std::optional<LostSave> (*)(const Files& files, const std::string& run);

/// Of a run that is looked at while it saves: a folder that is empty now may be a save in a moment.
std::optional<LostSave> none_lost(const Files& /*files*/, const std::string& /*run*/) {
  return std::nullopt;
}

class SavesOfRun {
 public:
  /// `at_once`: so many are read at the same time.
  SavesOfRun(const Files& files, const ReadSave& read, FindLost find_lost, std::size_t at_once)
      : files_(files), read_(read), find_lost_(find_lost), at_once_(at_once) {}

  void take(const std::string& path) {
    if (files_.type(path) == FileType::folder) {
      const std::size_t before = found.size(), others = without_scaler.size();
      visit(path, 0);
      if (found.size() > before) return;
      if (without_scaler.size() > others) {  // the folder of these is one at most if it has a scaler
        if (auto whole = read_(path); whole && whole->has_scaler) found.push_back(*std::move(whole));
        return;
      }
    }
    take(read_(path));
  }

  std::vector<Save> found, without_scaler, unread;
  std::vector<std::string> links;     ///< of newest saves that are links: why they are not read
  std::vector<std::string> too_deep;  ///< folders that were not looked into

 private:
  [[nodiscard]] std::size_t count() const { return found.size() + without_scaler.size() + unread.size(); }

  /// Whether it is one with a scaler.
  bool take(std::optional<Save> save) {
    if (!save) return false;
    if (!save->not_read.empty()) {
      unread.push_back(*std::move(save));
      return false;
    }
    const bool has_scaler = save->has_scaler;
    (has_scaler ? found : without_scaler).push_back(*std::move(save));
    return has_scaler;
  }

  /// Of those of `entries` that may be checkpoints what they hold.
  std::vector<std::optional<Save>> read(const std::string& prefix, std::span<const FileEntry> entries) const {
    std::vector<std::optional<Save>> saves(entries.size());
    const auto read_one = [&](std::size_t i) {
      if (may_be_save(prefix + entries[i].name, entries[i])) saves[i] = read_(prefix + entries[i].name);
      if (saves[i] && !saves[i]->is_one) saves[i].reset();
    };
    for_each_parallel(entries.size(), read_one, {}, at_once_);
    return saves;
  }

  [[nodiscard]] bool may_be_save(const std::string& path, const FileEntry& entry) const {
    if (!may_be_checkpoint(entry)) return false;
    if (entry.type != FileType::folder || step_in_name(entry.name)) return true;
    try {
      return may_be_one_save(path, files_.list(path));
    } catch (const Error&) {
      return true;  // whoever opens it tells why
    }
  }

  void visit(const std::string& folder, int depth) {
    std::vector<FileEntry> entries;
    try {
      entries = files_.list(folder);
    } catch (const Error& error) {
      const bool is_save = step_in_name(file_name(folder)).has_value();  // told by who reads it
      if (error.detail == EACCES && depth > 0 && !is_save) unread.emplace_back().not_read = error.what();
      return;
    }
    entries = without_parts(std::move(entries));
    leave_out(unfinished_saves(folder, entries), entries);
    if (!has_ranks_of_steps(entries)) std::erase_if(entries, is_file_of_rank);  // parts of one save
    std::sort(entries.begin(), entries.end(),
              [](const FileEntry& a, const FileEntry& b) { return natural_less(a.name, b.name); });
    const std::string prefix = folder.ends_with('/') ? folder : folder + '/';
    const std::size_t before = count();
    bool has_suspect = false;  // one by its name, of which nothing was read
    for (std::span<const FileEntry> left(entries); !left.empty();) {
      const auto batch = left.first(std::min(left.size(), at_once_ == 1 ? 1 : batches * at_once_));
      left = left.subspan(batch.size());
      std::vector<std::optional<Save>> saves = read(prefix, batch);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const std::size_t already = count();
        take_entry(prefix, batch[i], std::move(saves[i]), depth);
        has_suspect = has_suspect || (count() == already && may_be_lost_save(batch[i]));
      }
    }
    if (has_suspect && count() > before) tell_of_lost(folder);
  }

  void take_entry(const std::string& prefix, const FileEntry& entry, std::optional<Save> save, int depth) {
    if (take(std::move(save))) return;
    const bool is_hidden = entry.name.starts_with('.') || is_being_written(entry.name);
    const bool is_inside = entry.type == FileType::folder && !is_hidden && !rank_name(entry.name);
    if (!is_inside) return;
    if (depth == deepest_folder) return too_deep.push_back(prefix + entry.name);
    visit(prefix + entry.name, depth + 1);
  }

  /// What a resume would take from `folder`, and tare does not read.
  void tell_of_lost(const std::string& folder) {
    const auto lost = find_lost_(files_, folder);
    if (!lost) return;
    if (lost->finding.severity == Severity::warning) return links.push_back(lost->finding.message);
    unread.push_back({.has_scaler = false, .not_read = lost->finding.message, .is_damaged = true});
  }

  static constexpr std::size_t batches = 8;  ///< of a batch's reads the last ones wait for the slowest

  const Files& files_;
  const ReadSave& read_;
  FindLost find_lost_;
  std::size_t at_once_;
};

}  // namespace

std::optional<double> TraceCheckpoint::scale() const {
  const auto field = std::find_if(fields.begin(), fields.end(), [](const auto& each) { return each.first == "scale"; });
  return field == fields.end() ? std::nullopt : std::optional(field->second);
}

namespace {

/// Throws what open_checkpoint() throws.
std::optional<Save> opened_save(const std::string& path, const Files& files, const std::shared_ptr<Budget>& budget) {
  const Checkpoint checkpoint = open_checkpoint(path, {.files = &files, .budget = budget});
  if (checkpoint.scalers.empty()) return without_scaler(path, files);
  const FoundScaler& scaler = first_scaler(checkpoint);
  Save save{.is_one = kind_of_folder(checkpoint, path) == FolderIs::one_save};
  save.checkpoint.path = path;
  save.checkpoint.dialect = scaler.dialect->name;
  save.scale = scale_of(scaler);
  save.checkpoint.other_scales = other_scales(checkpoint, scaler);
  for (const Field& field : scaler.fields) add_field(field, save.checkpoint);
  const SavedCounters counters = counters_of(checkpoint, path, files);
  save.checkpoint.step = counters.step;
  save.skipped = counters.skipped;
  return save;
}

/// One that its name tells to be there, and of which nothing could be read.
std::optional<Save> unread_save(const std::string& path, const Error& error) {
  Save save;
  save.checkpoint.path = path;
  save.checkpoint.step = step_in_name(file_name(path));
  save.has_scaler = false;
  save.not_read = error.what();
  save.is_damaged = tells_of_damage(error) || error.status == Status::not_found;
  return save.checkpoint.step ? std::optional(std::move(save)) : std::nullopt;
}

}  // namespace

bool is_damaged_save(const std::string& path, const Files& files, const Error& error) {
  if (error.status == Status::not_found) return is_unfinished(files, path);
  if (!tells_of_damage(error)) return false;
  const bool is_meant = is_meant_as_checkpoint(path) || (error.status == Status::corrupt && extension(path).empty());
  return is_meant || files.type(path) == FileType::folder;
}

std::optional<Save> read_save(const std::string& path, const Files& files, const std::shared_ptr<Budget>& budget) {
  try {
    return opened_save(path, files, budget);
  } catch (const Error&) {
    return {};
  }
}

namespace {

/// One whose step nobody tells stays behind the one that it was found behind.
void sort_by_step(std::vector<Save>& saves) {
  std::vector<std::pair<std::int64_t, std::size_t>> order;
  std::int64_t step = -1;
  for (std::size_t i = 0; i < saves.size(); ++i) {
    step = saves[i].checkpoint.step.value_or(step);
    order.emplace_back(step, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<Save> sorted;
  sorted.reserve(saves.size());
  for (const auto& place : order) sorted.push_back(std::move(saves[place.second]));
  saves = std::move(sorted);
}

Trace read_saves(std::span<const std::string> paths, SavesOfRun saves) {
  for (const std::string& path : paths) {
    if (path != "-") saves.take(path);
  }
  sort_by_step(saves.found);
  Run run;
  for (Save& save : saves.without_scaler) run.trace().without_scaler.push_back(std::move(save.checkpoint));
  for (const Save& save : saves.unread) {
    run.warn(save.is_damaged ? "save-not-read" : "file-not-read", escaped(save.not_read));
  }
  for (const std::string& why : saves.links) run.warn("link-not-read", escaped(why));
  for (const std::string& folder : saves.too_deep) run.warn("folder-not-read", escaped(too_deep(folder).message));
  const Save* before = nullptr;
  for (const Save& save : saves.found) {
    run.trace().checkpoints.push_back(save.checkpoint);
    if (!save.scale) continue;
    TraceStep step{.step = save.checkpoint.step, .after = save.scale};
    step.source = run.source(save.checkpoint.path, "checkpoint");
    const std::int64_t first = before != nullptr ? before->checkpoint.step.value_or(0) : 0;
    const std::uint64_t skipped_before = before != nullptr ? before->skipped.value_or(0) : 0;
    const bool counts = save.skipped && step.step && *step.step > first && *save.skipped >= skipped_before &&
                        (before == nullptr || before->skipped);
    if (counts) {
      step.span = static_cast<std::uint64_t>(*step.step - first);
      step.skipped = *save.skipped - skipped_before;
      if (*step.skipped == 0) step.overflow = false;
      if (*step.skipped >= step.span) step.overflow = true;
    }
    run.add(step, &save);
    before = &save;
  }
  return run.finish();
}

}  // namespace

Trace read_run_checkpoints(std::span<const std::string> paths, const TraceOptions& options) {
  constexpr std::size_t files_of_one = 8;  // which are read at the same time, too
  const std::size_t usual = std::max<std::size_t>(1, most_at_once(*options.files) / files_of_one);
  const std::size_t at_once = options.at_once > 0 ? options.at_once : usual;
  const auto budget = Budget::of_files("the checkpoints of the run");
  const auto read = [&](const std::string& path) -> std::optional<Save> {
    try {
      return opened_save(path, *options.files, Budget::of_files(path, budget));
    } catch (const Error& error) {
      const bool is_told = error.status == Status::io || is_damaged_save(path, *options.files, error);
      return is_told ? unread_save(path, error) : std::nullopt;
    }
  };
  return read_saves(paths, SavesOfRun(*options.files, read, lost_save, at_once));
}

Trace read_run_checkpoints(std::span<const std::string> paths, const TraceOptions& options, const ReadSave& read) {
  return read_saves(paths, SavesOfRun(*options.files, read, none_lost, 1));
}

}  // namespace tare
