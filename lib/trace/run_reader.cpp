#include "lib/trace/run_reader.hpp"

#include "lib/base/text.hpp"
#include "lib/trace/run.hpp"
#include "lib/trace/series/csv.hpp"
#include "lib/trace/series/jsonl.hpp"
#include "lib/trace/series/mlflow.hpp"
#include "lib/trace/series/series.hpp"
#include "lib/trace/series/tensorboard.hpp"
#include "lib/trace/series/trainer_state.hpp"
#include "lib/trace/series/wandb.hpp"
#include "lib/trace/text/log.hpp"
#include "lib/trace/text/scan.hpp"

namespace tare {

std::string_view name_of(RunFileKind kind) {
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
    case RunFileKind::trainer_state:
      return "trainer-state";
    default:
      return "log";
  }
}

/// Of logs, or of series.
struct RunReader::Reading {
  explicit Reading(Series of_series) : series(std::move(of_series)) {}

  Run run;
  Log log{run};
  Series series;
  OpenRows rows;  ///< of event files
};

void RunReader::Deleted::operator()(Reading* reading) const {
  delete reading;
}

RunReader::RunReader(RunFileKind kind, const std::string& tag)
    : kind_(kind), reading_(new Reading(Series(std::string(name_of(kind)), tag))) {}

void RunReader::read(const RunFile& file, Input& input) {
  Series& series = reading_->series;
  switch (kind_) {
    case RunFileKind::log:
      return reading_->log.read(input);
    case RunFileKind::event_file:
      return read_event_file(input, series, reading_->rows);
    case RunFileKind::csv:
      return read_csv(input, series);
    case RunFileKind::json_lines:
      return read_json_lines(input, series);
    case RunFileKind::trainer_state:
      return read_trainer_state(input, series);
    case RunFileKind::mlflow:
      if (series.key(file.metric).role == KeyRole::scale) read_mlflow_metric(input, file.metric, series);
      return;
    default:
      return read_wandb(input, series);
  }
}

Trace RunReader::so_far() const {
  if (kind_ != RunFileKind::log) {
    Series series = reading_->series;
    OpenRows(reading_->rows).flush(series);
    return series.finish();
  }
  Run run = reading_->run;
  reading_->log.in(run).finish();
  return run.finish();
}

Trace RunReader::finish() {
  if (kind_ != RunFileKind::log) {
    reading_->rows.flush(reading_->series);
    return reading_->series.finish();
  }
  reading_->log.finish();
  return reading_->run.finish();
}

WholePart whole_part(RunFileKind kind, const Source& file, std::uint64_t begin) {
  if (kind == RunFileKind::event_file) return whole_event_records(file, begin);
  if (kind == RunFileKind::wandb) return whole_wandb_records(file, begin);
  return whole_lines(file, begin);
}

}  // namespace tare
