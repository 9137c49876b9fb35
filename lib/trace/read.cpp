#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/trace/checkpoints.hpp"
#include "lib/trace/run_reader.hpp"
#include "lib/trace/together.hpp"
#include "lib/trace/trace.hpp"

namespace tare {

namespace {

Trace read_group(const RunFiles& group, const TraceOptions& options) {
  if (group.kind == RunFileKind::database) {
    Trace none;
    none.warnings.push_back(
        {"database",
         escaped(group.files.front().path) +
             ": an SQLite database, as MLflow 3 keeps metrics in, is not read. A table of it is: sqlite3 -csv -header "
             "mlflow.db \"select step, value as loss_scale from metrics where key = 'KEY' order by step\""});
    return none;
  }
  RunReader reader(group.kind, options.tag);
  for (const RunFile& file : group.files) {
    reader.read(file, file.input ? *file.input : *std::make_shared<Input>(file.path, options));
  }
  return reader.finish();
}

bool has_series(const Trace& trace, const std::string& tag) {
  return std::ranges::any_of(trace.sources, [&](const TraceSource& source) { return source.tag == tag; });
}

[[noreturn]] void refuse_series(const std::string& name) {
  throw Error(Status::not_found, "nothing tells a series '" + escaped(name) + "'",
              "name it as its file does: a tag of an event file, a column of a table, a key of JSON lines");
}

}  // namespace

Trace read_trace(std::span<const std::string> paths, const TraceOptions& options) {
  std::vector<Trace> traces;
  for (const RunFiles& group : files_of_run(paths, options)) traces.push_back(read_group(group, options));
  if (!options.tag.empty() &&
      std::ranges::none_of(traces, [&](const Trace& t) { return has_series(t, options.tag); })) {
    refuse_series(options.tag);
  }
  return told_together(std::move(traces), read_run_checkpoints(paths, options));
}

Trace read_series(std::span<const std::string> paths, const std::string& name, TraceOptions options) {
  options.tag = name;
  std::vector<Trace> traces;
  for (const RunFiles& group : files_of_run(paths, options)) {
    const bool may_have = group.kind != RunFileKind::log && group.kind != RunFileKind::database;
    if (may_have) traces.push_back(read_group(group, options));
  }
  Trace series = told_together(std::move(traces), {});
  if (!series.steps.empty()) return series;
  refuse_series(name);
}

}  // namespace tare
