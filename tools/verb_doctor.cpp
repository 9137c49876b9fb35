#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/codec/json_line.hpp"
#include "lib/report/health.hpp"
#include "lib/report/unfinished.hpp"
#include "tools/journals.hpp"
#include "tools/network.hpp"
#include "tools/network_options.hpp"
#include "tools/open.hpp"
#include "tools/outcome.hpp"
#include "tools/render.hpp"
#include "tools/render_health.hpp"
#include "tools/standard_input.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

struct DoctorVerbOptions {
  std::vector<std::string> paths;
  std::vector<std::string> thresholds;
  std::string tag;
  std::string fail_on = "error";
  std::size_t jobs = 0;
  bool json = false;
  bool json_lines = false;
  bool sarif = false;
  bool rules = false;
};

/// Edits that are not finished, told once each, and kept for the answer; by several threads.
class Unfinished {
 public:
  explicit Unfinished(const Terminal& terminal) : terminal_(terminal) {}

  void take(const Pending& pending) {
    const std::lock_guard lock(turn_);
    if (std::ranges::find(all_, pending.folder, &Pending::folder) != all_.end()) return;
    terminal_.say(render_pending(pending));
    all_.push_back(pending);
  }
  [[nodiscard]] const std::vector<Pending>& all() const { return all_; }

 private:
  const Terminal& terminal_;
  std::mutex turn_;
  std::vector<Pending> all_;
};

DoctorOptions doctor_options(const Terminal& terminal, const DoctorVerbOptions& options, const Files& files,
                             Unfinished& unfinished) {
  DoctorOptions given;
  for (const std::string& assignment : options.thresholds) set_threshold(given.thresholds, assignment);
  given.trace.tag = options.tag;
  given.trace.files = &files;
  given.trace.at_once = options.jobs;
  given.at_once = options.jobs > 0 ? options.jobs : usual_jobs(files);
  given.open = [&terminal, &unfinished](const std::string& path) {
    Opened opened = open_for_reading(terminal, path, {});
    if (opened.pending) unfinished.take(*opened.pending);
    return std::move(opened.checkpoint);
  };
  return given;
}

std::string answer_of(const Terminal& terminal, const DoctorVerbOptions& options, const Diagnosis& diagnosis,
                      const std::vector<Pending>& unfinished) {
  if (options.sarif) return findings_sarif(diagnosis, TARE_VERSION);
  if (options.json_lines) return JsonLine().of(findings_json(diagnosis, unfinished));
  return options.json ? findings_json(diagnosis, unfinished) : render_diagnosis(terminal, diagnosis);
}

int exit_code(const DoctorVerbOptions& options, const Diagnosis& diagnosis) {
  if (options.fail_on == "never") return exit_done;
  const Severity least = options.fail_on == "warning" ? Severity::warning : Severity::error;
  return has_finding(diagnosis, least) ? exit_no : exit_done;
}

int doctor(const Terminal& terminal, const DoctorVerbOptions& options) {
  if (options.rules) {
    if (options.sarif || !options.paths.empty()) {
      throw Error(Status::invalid_argument, "--rules lists the rules: no PATH and no --sarif goes with it");
    }
    const bool is_json = options.json || options.json_lines;
    const std::string rules = is_json ? rules_json() : render_rules(terminal);
    terminal.answer(options.json_lines ? JsonLine().of(rules) : rules);
    return exit_done;
  }
  if (options.paths.empty()) throw Error(Status::invalid_argument, "PATH is required", "tare doctor run/");
  const std::vector<std::string> paths = reached(options.paths);
  Unfinished unfinished(terminal);
  // Of the checkpoints of a run the newest alone is looked into, and the doctor names others to go back to.
  for (const std::string& path : paths) {
    if (is_url(path) || path == standard_input_path) continue;
    for (const Pending& pending : unfinished_below({path}, scope_for_reading)) unfinished.take(pending);
  }
  const DoctorOptions given = doctor_options(terminal, options, one_storage_of(paths), unfinished);
  const Diagnosis diagnosis = diagnose(paths, given);
  terminal.answer(answer_of(terminal, options, diagnosis, unfinished.all()));
  return exit_code(options, diagnosis);
}

}  // namespace

Verb doctor_verb() {
  auto options = std::make_shared<DoctorVerbOptions>();
  return {
      .name = "doctor",
      .purpose = "What is wrong with a checkpoint, a run or its logs, since when, and what to do",
      .options = joined(
          {{{"PATH", &options->paths, "Checkpoints, run folders, logs, event files: of one run"},
            {"--jobs", &options->jobs, "How many checkpoints are read at the same time (default: 2; of URLs 8)"},
            {"--json", &options->json, "Answer in JSON (schema tare.findings/1)"},
            {"--json-lines", &options->json_lines, "The same, on one line"},
            {"--sarif", &options->sarif, "Answer in SARIF 2.1.0"},
            {"--fail-on",
             OneOf{"SEVERITY",
                   {"error", "warning", "never"},
                   [options](const std::string& word) { options->fail_on = word; }},
             "Exit 1 where a finding is that grave: error (unless said otherwise), warning or never"},
            {"--threshold", &options->thresholds, "NAME=NUMBER: where a rule draws its line, as --rules lists them"},
            {"--tag", &options->tag, "The series that is the scale, where there are several"},
            {"--rules", &options->rules, "List the rules and their thresholds"}},
           network_options()}),
      .exclusive = {"--json", "--json-lines", "--sarif"},
      .closing_words =
          "Exit 0: nothing as grave as --fail-on says. 1: something.\n"
          "Examples:\n"
          "  tare doctor run                         checkpoints and logs in a folder, looked at together\n"
          "  tare doctor train.log run/global_step4200\n"
          "  tare doctor run --fail-on warning       before a job resumes",
      .run = [options](const Terminal& t) { return doctor(t, *options); },
  };
}
