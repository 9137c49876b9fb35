#include <algorithm>

#include "lib/base/text.hpp"
#include "lib/trace/checkpoints.hpp"
#include "lib/trace/files.hpp"
#include "lib/trace/series/csv.hpp"
#include "lib/trace/series/jsonl.hpp"
#include "lib/trace/series/mlflow.hpp"
#include "lib/trace/series/tensorboard.hpp"
#include "lib/trace/series/wandb.hpp"
#include "lib/trace/text/log.hpp"
#include "lib/trace/trace.hpp"

namespace tare {

namespace {

std::shared_ptr<Input> opened(const RunFile& file, const TraceOptions& options) {
  return file.input ? file.input : std::make_shared<Input>(file.path, options);
}

Trace read_logs(const RunFiles& group, const TraceOptions& options) {
  Run run;
  Log log(run);
  for (const RunFile& file : group.files) log.read(*opened(file, options));
  log.finish();
  return run.finish();
}

constexpr std::string_view name_of(RunFileKind kind) {
  switch (kind) {
    case RunFileKind::event_file:
      return "tensorboard";
    case RunFileKind::csv:
      return "csv";
    case RunFileKind::json_lines:
      return "jsonl";
    case RunFileKind::mlflow:
      return "mlflow";
    case RunFileKind::wandb:
      return "wandb";
    default:
      return "log";
  }
}

Trace read_series(const RunFiles& group, const TraceOptions& options) {
  Series series(std::string(name_of(group.kind)), options.tag);
  for (const RunFile& file : group.files) {
    if (group.kind == RunFileKind::mlflow && series.key(file.metric).role != KeyRole::scale) continue;
    const auto input = opened(file, options);
    switch (group.kind) {
      case RunFileKind::event_file:
        read_event_file(*input, series);
        break;
      case RunFileKind::csv:
        read_csv(*input, series);
        break;
      case RunFileKind::json_lines:
        read_json_lines(*input, series);
        break;
      case RunFileKind::mlflow:
        read_mlflow_metric(*input, file.metric, series);
        break;
      default:
        read_wandb(*input, series);
    }
  }
  return series.finish();
}

/// How much a trace tells: of several that tell of one run the richest is taken.
std::size_t facts_in(const Trace& trace) {
  std::size_t facts = 0;
  for (const TraceStep& step : trace.steps) {
    facts += std::size_t{step.scale.has_value()} + std::size_t{step.after.has_value()} +
             std::size_t{step.overflow.has_value()} + 1;
  }
  return facts;
}

std::string names_of(const Trace& trace) {
  std::string names;
  for (const TraceSource& source : trace.sources) {
    if (!names.empty()) names += ", ";
    names += escaped(source.path) + (source.tag.empty() ? "" : " (" + escaped(source.tag) + ")");
    constexpr std::size_t enough = 200;
    if (names.size() > enough) return names + " ...";
  }
  return names;
}

}  // namespace

Trace read_trace(std::span<const std::string> paths, const TraceOptions& options) {
  Trace best;
  std::size_t most = 0;
  std::vector<TraceWarning> others;
  for (const RunFiles& group : files_of_run(paths, options)) {
    if (group.kind == RunFileKind::database) {
      others.push_back(
          {"database", escaped(group.files.front().path) +
                           ": an SQLite database, as MLflow 3 keeps metrics in, is not read: export it, or "
                           "use `mlflow` to write the metric's history as CSV"});
      continue;
    }
    Trace trace = group.kind == RunFileKind::log ? read_logs(group, options) : read_series(group, options);
    const std::size_t facts = facts_in(trace);
    if (facts == 0) {
      others.insert(others.end(), trace.warnings.begin(), trace.warnings.end());
      continue;
    }
    Trace& less = facts > most ? best : trace;
    if (!less.steps.empty()) {
      others.push_back({"other-source", names_of(less) + ": tell of " + std::to_string(less.steps.size()) +
                                            " steps, too, and less: they are left out"});
    }
    if (facts > most) {
      best = std::move(trace);
      most = facts;
    }
  }
  Trace saved = read_run_checkpoints(paths, options);
  if (best.steps.empty()) {
    best = std::move(saved);
  } else {
    best.checkpoints = std::move(saved.checkpoints);
  }
  best.warnings.insert(best.warnings.end(), others.begin(), others.end());
  if (best.steps.empty()) {
    best.warnings.push_back(
        {"no-scale",
         "nothing here tells of a loss scale: many trainers (Hugging Face Trainer without DeepSpeed, "
         "accelerate, Lightning, mmengine, timm) print none unless asked; log scaler.get_scale()"});
  }
  return best;
}

}  // namespace tare
