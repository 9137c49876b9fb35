#include "lib/watch/watch.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/trace/together.hpp"
#include "lib/trace/told_once.hpp"

namespace tare {

namespace {

/// More moves of the scale between two looks are told as one.
constexpr std::size_t most_moves = 10;

WatchEvent::What event_of(FollowedChange::What what) {
  switch (what) {
    case FollowedChange::What::found:
      return WatchEvent::What::found;
    case FollowedChange::What::rotated:
      return WatchEvent::What::rotated;
    case FollowedChange::What::truncated:
      return WatchEvent::What::truncated;
    case FollowedChange::What::unread:
      return WatchEvent::What::warning;
    default:
      return WatchEvent::What::gone;
  }
}

/// A log that was rotated tells of the same finding in another file.
bool is_same(const HealthFinding& a, const HealthFinding& b) {
  return a.code == b.code && a.severity == b.severity && a.path == b.path;
}

bool holds(const std::vector<HealthFinding>& findings, const HealthFinding& finding) {
  return std::ranges::any_of(findings, [&](const HealthFinding& one) { return is_same(one, finding); });
}

/// Of one step, as far as it is told.
std::uint64_t overflows_in(const TraceStep& step, std::optional<double> before) {
  if (step.skipped) return *step.skipped;
  if (step.overflow) return *step.overflow ? step.span : 0;
  return before && step.after && *step.after < *before ? 1 : 0;
}

/// As far as it is told: one below what its log has decimals for is that small.
std::optional<double> scale_left_by(const TraceStep& step) {
  const bool is_rounded = step.smoothed < 1 && !step.scale && !step.after;
  return is_rounded ? step.smoothed : step.after;
}

bool is_same(const std::optional<double>& a, const std::optional<double>& b) {
  return a == b || (a && b && std::isnan(*a) && std::isnan(*b));
}

bool is_same(const TraceCheckpoint& a, const TraceCheckpoint& b) {
  return a.step == b.step && is_same(a.scale(), b.scale());
}

std::string teller_of(const Trace& trace) {
  return trace.sources.empty() ? std::string() : trace.sources.front().kind + trace.sources.front().tag;
}

bool is_folder(const std::string& path) {
  struct stat there {};
  return ::stat(path.c_str(), &there) == 0 && S_ISDIR(there.st_mode);
}

void add_folders(const std::string& folder, const Files& files, int depth, std::set<std::string>& found) {
  constexpr int deepest = 8;
  found.insert(folder);
  if (depth == deepest) return;
  try {
    for (const FileEntry& entry : files.list(folder)) {
      if (entry.type != FileType::folder || entry.name.starts_with('.')) continue;
      add_folders(folder + (folder.ends_with('/') ? "" : "/") + entry.name, files, depth + 1, found);
    }
  } catch (const Error&) {  // it is taken away
    return;
  }
}

}  // namespace

std::string_view name(WatchEvent::What what) {
  constexpr auto names = std::to_array<std::string_view>(
      {"found", "rotated", "truncated", "gone", "warning", "scale", "restart", "checkpoint", "finding", "over"});
  return names[static_cast<std::size_t>(what)];
}

Watch::Watch(std::vector<std::string> paths, WatchOptions options)
    : paths_(std::move(paths)),
      options_(std::move(options)),
      files_(paths_, options_.trace, options_.own_files, options_.is_stopped),
      saves_(*options_.trace.files, options_.settle) {
  status_.diagnosis.targets = paths_;
}

std::vector<std::string> Watch::folders() const {
  std::set<std::string> found;
  for (const std::string& path : paths_) {
    if (is_folder(path)) {
      add_folders(path, *options_.trace.files, 0, found);
    } else {
      found.insert(folder_of(path));
    }
  }
  return {found.begin(), found.end()};
}

std::vector<WatchEvent> Watch::look(bool walks) {
  std::vector<WatchEvent> events;
  const bool has_waited = waits();
  for (const FollowedChange& change : files_.look(walks || has_waited)) {
    events.push_back({.what = event_of(change.what), .path = change.path, .text = change.more});
  }
  bool has_changed = files_.has_read() || !has_looked_;
  if (walks || has_waited) {
    saves_.begin();
    saved_ =
        read_run_checkpoints(paths_, options_.trace, [this](const std::string& path) { return saves_.read(path); });
    has_changed = has_changed || saves_.version() != version_ || saved_.checkpoints.size() != status_.checkpoints;
    version_ = saves_.version();
  }
  if (has_changed) take_in(events);
  has_looked_ = true;
  return events;
}

void Watch::take_in(std::vector<WatchEvent>& events) {
  const Trace trace = told_together(files_.traces(), saved_);
  tell_warnings(trace, events);
  const bool is_saved_alone = trace.steps.empty() || teller_of(trace) == "checkpoint";
  const bool may_lack_newest = saves_.waits() && saved_course_.goes_back(trace);
  if (is_saved_alone && !may_lack_newest) saved_course_.take(trace);
  tell_steps(is_saved_alone ? saved_course_.trace() : trace, events);
  tell_checkpoints(trace, events);
  tell_findings(trace, events);
}

void Watch::tell_warnings(const Trace& trace, std::vector<WatchEvent>& events) {
  for (const TraceWarning& warning : trace.warnings) {
    // Those of a run that has told nothing yet, or not all, say nothing.
    if (warning.code == "no-scale" || warning.code == "other-source" || warning.code == "truncated") continue;
    if (std::ranges::find(told_warnings_, warning.text) != told_warnings_.end()) continue;
    told_warnings_.push_back(warning.text);
    events.push_back({.what = WatchEvent::What::warning, .text = warning.text});
  }
}

void Watch::tell_steps(const Trace& trace, std::vector<WatchEvent>& events) {
  const std::string before_it = std::exchange(teller_, teller_of(trace));
  // The run so far, or the same once more by another source.
  const bool is_silent = teller_ != before_it && (!has_looked_ || !before_it.empty());
  const std::uint32_t segment_before = segment_;
  std::uint64_t steps = 0, all_overflows = 0;
  std::vector<WatchEvent> moves;
  std::optional<double> scale;
  std::size_t index = 0;
  ToldOnce once(trace);
  for (const TraceStep& told : trace.steps) {
    const TraceStep step = once.rest_of(told);
    const std::optional<double> before = step.scale ? step.scale : scale;
    const std::optional<double> left = scale_left_by(step);
    const std::optional<double> after = left ? left : before;
    const std::uint64_t overflows = overflows_in(step, before);
    steps += step.span;
    all_overflows += overflows;
    if (step.step) status_.step = step.step;
    const bool is_new = index++ >= told_steps_ && !is_silent;
    if (is_new && step.segment > segment_) moves.push_back({.what = WatchEvent::What::restart, .step = step.step});
    if (is_new && (overflows > 0 || (scale && !is_same(after, scale)))) {
      moves.push_back({.what = WatchEvent::What::scale,
                       .step = step.step,
                       .from = scale ? scale : before,
                       .to = after,
                       .overflows = overflows});
    }
    segment_ = step.segment;
    scale = after;
  }
  const std::uint64_t restarts = trace.segments.empty() ? 0 : trace.segments.size() - 1;
  status_.steps = std::max(status_.steps, steps);
  status_.overflows = std::max(status_.overflows, all_overflows);
  status_.restarts = std::max<std::uint64_t>(status_.restarts, restarts);
  status_.scale = scale;
  const bool may_be_half_written = teller_ == before_it && segment_ <= segment_before;  // a table, anew
  told_steps_ = may_be_half_written ? std::max(told_steps_, trace.steps.size()) : trace.steps.size();
  const auto is_move = [](const WatchEvent& event) { return event.what == WatchEvent::What::scale; };
  const auto count = static_cast<std::size_t>(std::ranges::count_if(moves, is_move));
  if (count > most_moves) {
    const auto first = std::ranges::find_if(moves, is_move);
    for (auto next = first + 1; next != moves.end(); ++next) {
      if (!is_move(*next)) continue;
      first->step = next->step;
      first->to = next->to;
      first->overflows += next->overflows;
      ++first->moves;
    }
    const WatchEvent whole = *first;
    std::erase_if(moves, is_move);
    moves.push_back(whole);
  }
  std::ranges::move(moves, std::back_inserter(events));
}

void Watch::tell_checkpoints(const Trace& trace, std::vector<WatchEvent>& events) {
  status_.checkpoints = trace.checkpoints.size();
  status_.newest.reset();
  for (const TraceCheckpoint& checkpoint : trace.checkpoints) {
    if (!status_.newest || checkpoint.step.value_or(0) >= status_.newest->step.value_or(0)) status_.newest = checkpoint;
    const auto told = std::ranges::find(told_checkpoints_, checkpoint.path, &TraceCheckpoint::path);
    if (told == told_checkpoints_.end()) {
      told_checkpoints_.push_back(checkpoint);
    } else if (is_same(std::exchange(*told, checkpoint), checkpoint)) {
      continue;
    }
    if (has_looked_) {
      events.push_back({.what = WatchEvent::What::checkpoint,
                        .path = checkpoint.path,
                        .step = checkpoint.step,
                        .saved = checkpoint});
    }
  }
}

const std::vector<HealthFinding>& Watch::findings_of_newest() {
  const std::string wanted = status_.newest ? status_.newest->path + "\n" + std::to_string(version_) : std::string();
  if (wanted == examined_) return of_newest_;
  examined_ = wanted;
  of_newest_.clear();
  if (!status_.newest) return of_newest_;
  try {
    of_newest_ = examine(options_.open(status_.newest->path));
    for (HealthFinding& finding : of_newest_) {
      if (finding.file.empty()) finding.file = status_.newest->path;
    }
  } catch (const Error&) {  // it is taken away, or written again: the next look has it
    examined_.clear();
  }
  return of_newest_;
}

void Watch::tell_findings(const Trace& trace, std::vector<WatchEvent>& events) {
  const std::vector<HealthFinding> before = std::exchange(status_.diagnosis.findings, {});
  std::vector<HealthFinding>& now = status_.diagnosis.findings;
  if (!trace.sources.empty()) now = examine(trace, options_.thresholds);
  std::erase_if(now, [](const HealthFinding& f) { return f.code == "healthy" || f.code == "no-scale-trace"; });
  const std::vector<HealthFinding>& of_state = findings_of_newest();
  now.insert(now.end(), of_state.begin(), of_state.end());
  put_gravest_first(now);
  status_.diagnosis.last_healthy.reset();
  tell_last_healthy(status_.diagnosis, trace);
  for (const HealthFinding& finding : now) {
    if (!holds(before, finding)) events.push_back({.what = WatchEvent::What::finding, .finding = finding});
  }
  for (const HealthFinding& finding : before) {
    if (!holds(now, finding)) events.push_back({.what = WatchEvent::What::over, .finding = finding});
  }
}

}  // namespace tare
