// What a run's logs, event files and checkpoints tell of its scale, step by step. Not told is not made up: each fact is
// optional. README.md says what each source tells.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/byte_stream.hpp"
#include "lib/base/files.hpp"
#include "lib/trace/steps.hpp"

namespace tare {

/// A file, or a series in it, that gave steps.
struct TraceSource {
  std::string path;  ///< as given, or found in a folder that was given. Not escaped
  std::string
      kind;  ///< "deepspeed-log", "megatron-log" ... "tensorboard", "csv", "jsonl", "mlflow", "wandb", "checkpoint"
  std::string tag;  ///< the series: a tag, a column, a key. Empty: it has no name. Not escaped
};

/// A stretch between two starts of the run. A new one begins where steps go back, and behind what ended one.
struct TraceSegment {
  std::optional<std::int64_t> first, last;  ///< the steps that are told; nothing where no step has a number
  std::optional<std::int64_t> kept;         ///< the last step that no later segment overwrites; nothing: none
};

/// A checkpoint of the run, in the order of the steps.
struct TraceCheckpoint {
  std::string path;                                    ///< to open it
  std::optional<std::int64_t> step;                    ///< nothing where neither its state nor its name tells
  std::string dialect;                                 ///< "megatron" ...; of its first scaler
  std::vector<std::pair<std::string, double>> fields;  ///< that scaler's, by role or native key: "scale", "window" ...
  std::vector<double> other_scales = {};               ///< those of its other scalers, each value once

  [[nodiscard]] std::optional<double> scale() const;  ///< its first scaler's
};

struct TraceWarning {
  std::string code;  ///< "truncated", "crc", "ranks-disagree", "no-scale", "thinned", "file-not-read" ...
  std::string text;  ///< names the file and the place; escaped
};

struct Trace {
  std::string unit = "step";  ///< what step numbers count: step, update, sample, iteration-0
  std::vector<TraceSource> sources;
  std::vector<TraceSegment> segments;
  TraceSteps steps;          ///< in the order of the run, one segment after the other
  TraceSteps without_scale;  ///< losses and norms of lines that tell no scale, where none tells a step's; of no segment
  std::vector<TraceCheckpoint> checkpoints;
  std::vector<TraceCheckpoint> without_scaler;  ///< checkpoints of which nothing is known but the step that they name
  std::vector<TraceWarning> warnings;
};

struct TraceOptions {
  std::string tag = {};                 ///< of several series that could be the scale, this one alone; empty: choose
  const Files* files = &local_files();  ///< borrowed
  std::size_t at_once = 0;              ///< so many checkpoints are read at the same time; 0: as many as the files take
  /// What the path "-" is; null: a file of that name.
  std::function<std::unique_ptr<ByteStream>()> standard_input = {};
};

/// Reads what `paths`, files and folders of one run, tell. What is damaged or unfinished is read as far as it goes,
/// with a warning; files that hold no trace give none. Memory is bounded, whatever the files' size. Throws `io` where a
/// path cannot be opened or read.
Trace read_trace(std::span<const std::string> paths, const TraceOptions& options = {});

/// The series of that name alone, whatever it means: its values stand in TraceStep::after. Throws as read_trace, and
/// `not_found` where nothing tells it.
Trace read_series(std::span<const std::string> paths, const std::string& name, TraceOptions options = {});

}  // namespace tare
