#include "lib/health/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/parallel.hpp"
#include "lib/base/text.hpp"
#include "lib/checkpoint/listing.hpp"
#include "lib/checkpoint/lost_save.hpp"
#include "lib/health/advice.hpp"
#include "lib/health/look.hpp"
#include "lib/health/rules.hpp"
#include "lib/trace/checkpoints.hpp"
#include "lib/trace/files.hpp"
#include "lib/trace/saved_step.hpp"

namespace tare {
namespace {

/// No run needs less.
constexpr double least_usable_scale = 1;

bool is_hidden(const Rule& rule, const std::vector<Symptom>& symptoms) {
  const auto hides = [&](const Symptom& symptom) {
    return std::ranges::find(rule.hidden_by, symptom.code) != rule.hidden_by.end();
  };
  return std::ranges::any_of(symptoms, hides);
}

HealthFinding finding_of(const Trace& trace, const Rule& rule, const Symptom& symptom) {
  HealthFinding finding{.severity = rule.severity, .code = std::string(rule.code), .message = symptom.message};
  finding.advice = rule.advice;
  finding.line = symptom.began.line;
  finding.step = symptom.began.step;
  if (symptom.began.source < trace.sources.size()) finding.file = trace.sources[symptom.began.source].path;
  for (const auto& [key, value] : symptom.evidence) finding.evidence.emplace_back(key, value);
  return finding;
}

HealthFinding told(std::string_view code, std::string message, std::string file = {}) {
  const Rule& rule = *find_rule(code);
  return {.severity = rule.severity,
          .code = std::string(code),
          .message = std::move(message),
          .advice = std::string(rule.advice),
          .file = std::move(file)};
}

constexpr const char* unread = "file-not-read";

bool is_trouble(const HealthFinding& finding) {
  return finding.severity != Severity::note;
}

/// Its lines may look like the beginning of a JSON document, and are none.
bool is_log(const std::string& path, const TraceOptions& options) {
  constexpr auto endings = std::to_array<std::string_view>({".jsonl", ".log", ".txt", ".out", ".err"});
  if (std::ranges::any_of(endings, [&](std::string_view ending) { return path.ends_with(ending); })) return true;
  return options.files->type(path) == FileType::file &&
         run_file(Input(path, options), options).kind == RunFileKind::json_lines;
}

bool is_usable(double scale) {
  return std::isfinite(scale) && scale >= least_usable_scale;
}

/// A checkpoint with less than half of what the trouble began from is part of it.
double scale_before(const HealthFinding& trouble) {
  for (const auto& [key, value] : trouble.evidence) {
    if (key == "from" && value > 0) return value / 2;
  }
  return least_usable_scale;
}

class Examiner {
 public:
  Examiner(const std::vector<std::string>& paths, const DoctorOptions& options) : options_(options) {
    diagnosis_.targets = paths;
  }

  Diagnosis run() {
    const Trace trace = read_trace(diagnosis_.targets, options_.trace);
    std::vector<HealthFinding> of_states = unread_files(trace);
    look_at_checkpoints(trace, of_states);
    diagnosis_.findings =
        trace.sources.empty() && has_checkpoint_ ? std::vector<HealthFinding>{} : examine(trace, options_.thresholds);
    if (has_checkpoint_) {
      std::erase_if(diagnosis_.findings, [](const HealthFinding& f) { return f.code == "no-scale-trace"; });
    }
    for (HealthFinding& finding : diagnosis_.findings) {
      if (finding.code == "no-scale-trace" && !not_read_.empty()) finding.message += "; as a checkpoint: " + not_read_;
    }
    const bool is_sick = std::ranges::any_of(of_states, is_trouble);
    if (is_sick) std::erase_if(diagnosis_.findings, [](const HealthFinding& f) { return f.code == "healthy"; });
    std::erase_if(diagnosis_.findings, [&](const HealthFinding& f) {  // what is resumed from is told of as such
      const auto is_same = [&](const HealthFinding& state) { return escaped(state.message) == f.message; };
      return f.code == "save-not-read" && std::ranges::any_of(of_states, is_same);
    });
    std::ranges::move(of_states, std::back_inserter(diagnosis_.findings));
    put_gravest_first(diagnosis_.findings);
    tell_last_healthy(diagnosis_, trace);
    if (diagnosis_.findings.empty()) diagnosis_.findings.push_back(told("healthy", "nothing is wrong with the state"));
    return std::move(diagnosis_);
  }

 private:
  /// What a path is as a checkpoint.
  struct Look {
    bool is_checkpoint = false;
    std::string not_read;  ///< why it is none
    std::vector<HealthFinding> findings;
  };

  /// Many at the same time, told of in their order.
  void look_at_checkpoints(const Trace& trace, std::vector<HealthFinding>& findings) {
    std::vector<Look> looks(diagnosis_.targets.size());
    for_each_parallel(
        looks.size(), [&](std::size_t i) { looks[i] = look_at_checkpoint(diagnosis_.targets[i], trace); }, {},
        options_.at_once);
    for (Look& look : looks) {
      has_checkpoint_ = has_checkpoint_ || look.is_checkpoint;
      if (!look.not_read.empty()) not_read_ = std::move(look.not_read);
      std::ranges::move(look.findings, std::back_inserter(findings));
    }
  }

  [[nodiscard]] Look look_at_checkpoint(const std::string& path, const Trace& trace) const {
    try {
      const Checkpoint checkpoint = options_.open(path);
      if (auto lost = scaler_lost(trace, path, checkpoint)) return {true, {}, {*std::move(lost)}};
      if (checkpoint.scalers.empty() && !trace.steps.empty() && gives_a_trace(trace, path)) return {};
      return {true, {}, examine(checkpoint)};
    } catch (const Error& error) {
      const bool is_other_format = error.status == Status::not_found || error.status == Status::unsupported;
      const bool is_none = is_other_format || error.status == Status::corrupt || error.status == Status::refused;
      if (is_none && is_source(trace, path)) return {};
      if (error.status == Status::io && has_checkpoints_of(trace, path)) return {true, {}, told_once(trace, error)};
      if (const auto lost = lost_of(trace, path)) return {true, {}, {told(lost->code, lost->message, path)}};
      if (is_unfinished(*options_.trace.files, path))
        return {true, {}, {told("incomplete-checkpoint", error.what(), path)}};
      const bool is_damaged = is_damaged_checkpoint(path, error);
      if (is_damaged && has_others(trace, path)) return {true, {}, {told("file-not-read", error.what(), path)}};
      if (error.status == Status::refused && are_mixed(trace, path)) throw;
      if (is_none && gives_a_trace(trace, path)) return {};
      if (is_damaged || (!is_other_format && !is_log(path, options_.trace))) throw;
      return {false, error.what(), {}};
    }
  }

  /// What a run would be resumed from, and holds nothing or is not there: that its other saves are well helps nobody.
  /// Where there are none, opening the run says what an empty folder is.
  [[nodiscard]] std::optional<Finding> lost_of(const Trace& trace, const std::string& path) const {
    const Files& files = *options_.trace.files;
    auto lost = files.type(path) == FileType::folder ? lost_save(files, path) : std::nullopt;
    if (!lost || lost->finding.severity != Severity::error) return std::nullopt;
    const bool is_of_run = lost->path == path || has_checkpoints_of(trace, path);
    return is_of_run ? std::optional(std::move(lost->finding)) : std::nullopt;
  }

  /// Of a run whose framework resumes from a save without the scaler that all before it have. One that tells no later
  /// step is none of a training that goes on: Ultralytics strips its last one when it ends.
  [[nodiscard]] static std::optional<HealthFinding> scaler_lost(const Trace& trace, const std::string& path,
                                                                const Checkpoint& newest) {
    if (!newest.scalers.empty() || newest.resolved == path) return std::nullopt;
    const auto itself = std::ranges::find(trace.without_scaler, newest.resolved, &TraceCheckpoint::path);
    if (itself == trace.without_scaler.end() || !itself->step) return std::nullopt;
    const auto is_beside = [&](const TraceCheckpoint& one) {
      return folder_of(one.path) == folder_of(newest.resolved);
    };
    const auto is_before = [&](const TraceCheckpoint& one) { return is_beside(one) && one.step < itself->step; };
    const auto beside = std::ranges::count_if(trace.checkpoints, is_beside);
    const auto before = std::ranges::count_if(trace.checkpoints, is_before);
    const bool is_alone = std::ranges::count_if(trace.without_scaler, is_beside) <= 1;  // itself
    if (before == 0 || before < beside || !is_alone) return std::nullopt;
    return told("incomplete-checkpoint",
                fmt::format("{} has no loss scaler, which {} before it: a resume starts a new one, or fails",
                            newest.resolved, before == 1 ? "the save has" : fmt::format("all {} saves have", before)),
                newest.resolved);
  }

  /// What a resume would read, or what was asked about.
  [[nodiscard]] bool is_damaged_checkpoint(const std::string& path, const Error& error) const {
    const bool is_damaged = error.status == Status::corrupt || is_damaged_save(path, *options_.trace.files, error);
    return is_damaged && !is_log(path, options_.trace);
  }

  /// Whether a damaged path is told of beside others: of a folder that holds logs alone nothing is resumed.
  [[nodiscard]] bool has_others(const Trace& trace, const std::string& path) const {
    const bool is_folder = options_.trace.files->type(path) == FileType::folder;
    if (is_folder && !step_in_name(file_name(path))) return has_checkpoints_of(trace, path);
    return !trace.sources.empty() || !trace.checkpoints.empty();
  }

  /// Whether the saves below `path` are of several runs, whose order nothing tells, or which go back and forth between
  /// folders that begin together: a run that was resumed in another folder begins there behind its first saves.
  static bool are_mixed(const Trace& trace, const std::string& path) {
    std::map<std::string, std::vector<std::int64_t>> steps;  // of each folder
    std::vector<std::string> order;
    bool are_numbered = true;
    for (const TraceCheckpoint& save : trace.checkpoints) {
      if (!save.path.starts_with(path)) continue;
      std::string folder = folder_of(save.path);
      steps[folder].push_back(save.step.value_or(0));
      are_numbered = are_numbered && save.step;
      if (order.empty() || order.back() != folder) order.push_back(std::move(folder));
    }
    if (steps.size() < 2 || !are_numbered) return steps.size() > 1;
    const std::vector<std::int64_t>& first = steps[order.front()];
    const bool begin_together = std::ranges::any_of(steps, [&](const auto& of_folder) {
      return of_folder.first != order.front() && first.size() > 1 && of_folder.second.front() < first[1];
    });
    return begin_together && order.size() > steps.size() + 1;
  }

  static bool is_source(const Trace& trace, const std::string& path) {
    return std::ranges::find(trace.sources, path, &TraceSource::path) != trace.sources.end();
  }

  static bool gives_a_trace(const Trace& trace, const std::string& path) {
    return std::ranges::any_of(trace.sources, [&](const TraceSource& source) { return source.path.starts_with(path); });
  }

  static bool has_checkpoints_of(const Trace& trace, const std::string& path) {
    const std::string beginning = path.ends_with('/') ? path : path + "/";
    const auto is_below = [&](const TraceCheckpoint& one) { return one.path.starts_with(beginning); };
    return std::ranges::any_of(trace.checkpoints, is_below) || std::ranges::any_of(trace.without_scaler, is_below);
  }

  /// The newest checkpoint of a run, which may be one of them.
  static std::vector<HealthFinding> told_once(const Trace& trace, const Error& error) {
    if (!unread_files(trace).empty()) return {};
    return {told(unread, error.what())};
  }

  const DoctorOptions& options_;
  Diagnosis diagnosis_;
  std::string not_read_;  ///< why a path is no checkpoint
  bool has_checkpoint_ = false;
};

/// Of reports that are too few in a row for a trouble; empty where there are none.
std::string no_numbers_text(const Losses& losses) {
  if (losses.no_numbers == 0) return {};
  return fmt::format("{} NaN or infinite, too few in a row to tell from an overflow's own",
                     losses.no_numbers == 1 ? "1 is" : fmt::format("{} are", losses.no_numbers));
}

std::string without_scale_text(const Trace& trace, const Losses& losses, bool is_well) {
  constexpr std::string_view nothing = "nothing of what was read tells a scale or an overflow";
  const std::size_t reports = trace.without_scale.size();
  if (reports == 0 || !is_well) return std::string(nothing);
  if (const std::string lost = no_numbers_text(losses); !lost.empty()) {
    return fmt::format("{}; of {} of losses and gradient norms {}", nothing, reports_text(reports), lost);
  }
  return fmt::format("{}; {} of losses and gradient norms show no trouble", nothing, reports_text(reports));
}

/// Where a run that has no scaler, or none that is healthy, goes back to.
std::string place_before(const Trace& trace, std::int64_t step) {
  const TraceCheckpoint* last = nullptr;
  for (const TraceCheckpoint& saved : trace.without_scaler) {
    if (*saved.step < step && (last == nullptr || *saved.step >= *last->step)) last = &saved;
  }
  return last != nullptr ? last->path : fmt::format("the last checkpoint before step {}", step);
}

/// A scale that fell shows some skipped steps; how many there were only those lines tell that speak of them.
std::string skipped_text(const Course& course) {
  if (course.tells_skips) return fmt::format(", {} of them skipped", course.overflows);
  return course.overflows > 0 ? fmt::format(", at least {} of them skipped", course.overflows) : "";
}

std::string healthy_course(const Course& course, const Losses& losses) {
  if (course.overflows == course.steps) {
    return fmt::format("{} told of, and the scale of no step without: nothing in their course is wrong",
                       course.steps == 1 ? "1 overflow is" : fmt::format("{} overflows are", course.steps));
  }
  const std::string lost = no_numbers_text(losses);
  return fmt::format("{} told of{}: a healthy course{}{}",
                     course.steps == 1 ? "1 step is" : fmt::format("{} steps are", course.steps), skipped_text(course),
                     course.has_scale ? "" : ", of which no scale is told",
                     lost.empty() ? lost : fmt::format("; of losses {}", lost));
}

}  // namespace

std::vector<HealthFinding> examine(const Trace& trace, const Thresholds& thresholds) {
  const Course course = course_of(trace);
  const Losses losses = losses_of(trace, thresholds);
  const ScaleAverages averages = averages_of(trace, thresholds);
  const Examination run{trace, course, losses, averages, thresholds};
  std::vector<Symptom> symptoms;
  for (const Rule& rule : rules()) {
    if (rule.look == nullptr) continue;
    std::vector<Symptom> found;
    rule.look(run, found);
    std::ranges::move(found, std::back_inserter(symptoms));
  }
  std::vector<HealthFinding> findings;
  for (const Symptom& symptom : symptoms) {
    const Rule& rule = *find_rule(symptom.code);
    if (!is_hidden(rule, symptoms)) findings.push_back(finding_of(trace, rule, symptom));
  }
  put_gravest_first(findings);
  const std::string first_file = trace.sources.empty() ? std::string() : trace.sources.front().path;
  if (course.steps == 0 && averages.reports == 0) {
    const bool is_well = std::ranges::none_of(findings, is_trouble);
    findings.push_back(told("no-scale-trace", without_scale_text(trace, losses, is_well), first_file));
  } else if (course.steps > 0 && std::ranges::none_of(findings, is_trouble)) {
    findings.push_back(told("healthy", healthy_course(course, losses), first_file));
  }
  return findings;
}

std::vector<HealthFinding> examine(const Checkpoint& checkpoint) {
  std::vector<HealthFinding> findings;
  for (const Finding& found : checkpoint.findings) {
    const auto file = std::ranges::find(checkpoint.files, found.file, &CheckpointFile::path);
    findings.push_back({.severity = found.severity,
                        .code = found.code,
                        .message = found.message,
                        .advice = advice_about(checkpoint, found),
                        .file = file == checkpoint.files.end() ? found.file : file->location,
                        .path = found.path});
  }
  return findings;
}

std::vector<HealthFinding> unread_files(const Trace& trace) {
  std::vector<HealthFinding> findings;
  for (const TraceWarning& warning : trace.warnings) {
    if (warning.code == unread) findings.push_back(told(unread, warning.text));
  }
  return findings;
}

bool is_sick(const TraceCheckpoint& checkpoint) {
  const auto scale = checkpoint.scale();
  return (scale && !is_usable(*scale)) || !std::ranges::all_of(checkpoint.other_scales, is_usable);
}

std::optional<TraceCheckpoint> healthy_before(const Trace& trace, std::optional<std::int64_t> step,
                                              double least_scale) {
  std::optional<TraceCheckpoint> healthy;
  for (const TraceCheckpoint& checkpoint : trace.checkpoints) {
    if (step && (!checkpoint.step || *checkpoint.step >= *step)) continue;
    const auto scale = checkpoint.scale();
    if (!scale || is_sick(checkpoint) || (!step && *scale < least_scale)) continue;
    if (!healthy || checkpoint.step.value_or(0) >= healthy->step.value_or(0)) healthy = checkpoint;
  }
  return healthy;
}

namespace {

/// The gravest of what was seen; what could not be looked at, where that is all.
auto first_trouble(const std::vector<HealthFinding>& findings) {
  const auto is_seen = [](const HealthFinding& finding) {
    return is_trouble(finding) && !finding.code.ends_with("-not-read");
  };
  const auto seen = std::ranges::find_if(findings, is_seen);
  return seen != findings.end() ? seen : std::ranges::find_if(findings, is_trouble);
}

}  // namespace

void tell_last_healthy(Diagnosis& diagnosis, const Trace& trace) {
  const auto trouble = first_trouble(diagnosis.findings);
  if (trouble != diagnosis.findings.end()) {
    diagnosis.last_healthy = healthy_before(trace, trouble->step, scale_before(*trouble));
  }
  name_healthy(diagnosis.findings, diagnosis.last_healthy, trace);
}

void name_healthy(std::vector<HealthFinding>& findings, const std::optional<TraceCheckpoint>& healthy,
                  const Trace& trace) {
  const auto trouble = first_trouble(findings);
  const auto step = trouble == findings.end() ? std::nullopt : trouble->step;
  const std::string before = healthy ? healthy->path
                             : step  ? place_before(trace, *step)
                                     : "the last checkpoint before that";
  const bool has_one_scaler = healthy && healthy->other_scales.empty();
  for (HealthFinding& finding : findings) {
    const Rule* rule = find_rule(finding.code);
    if (rule == nullptr || rule->looks_at != LooksAt::trace) continue;
    const bool goes_back = rule->advice.find("{healthy}") != std::string_view::npos;
    const std::string checkpoint = goes_back && has_one_scaler ? shell_path(healthy->path) : "CHECKPOINT";
    finding.advice = filled(rule->advice, {{"{healthy}", before}, {"CHECKPOINT", checkpoint}});
  }
}

void put_gravest_first(std::vector<HealthFinding>& findings) {
  std::ranges::stable_sort(findings, [](const HealthFinding& a, const HealthFinding& b) {
    return static_cast<int>(a.severity) > static_cast<int>(b.severity);
  });
}

Diagnosis diagnose(const std::vector<std::string>& paths, const DoctorOptions& options) {
  return Examiner(paths, options).run();
}

bool has_finding(const Diagnosis& diagnosis, Severity least) {
  return std::ranges::any_of(diagnosis.findings, [&](const HealthFinding& finding) {
    return static_cast<int>(finding.severity) >= static_cast<int>(least);
  });
}

}  // namespace tare
