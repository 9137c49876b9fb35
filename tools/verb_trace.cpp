#include <unistd.h>

#include <cerrno>
#include <memory>

#include "lib/base/error.hpp"
#include "lib/report/trace.hpp"
#include "tools/network.hpp"
#include "tools/network_options.hpp"
#include "tools/open.hpp"
#include "tools/render.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

struct TraceVerbOptions {
  std::vector<std::string> paths;
  std::string tag;
  bool json = false;
  bool csv = false;
};

/// A log that comes through a pipe is read as it comes: it may be of any size.
class PipedLog final : public ByteStream {
 public:
  std::size_t read(std::span<std::byte> to) override {
    for (;;) {
      const ssize_t count = ::read(STDIN_FILENO, to.data(), to.size());
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR) throw_io("standard input", errno);
    }
  }
};

int trace(const Terminal& terminal, const TraceVerbOptions& options) {
  const std::vector<std::string> paths = reached(options.paths);
  TraceOptions how{.tag = options.tag, .files = &one_storage_of(paths)};
  how.standard_input = [] { return std::make_unique<PipedLog>(); };
  const Trace found = read_trace(paths, how);
  const std::vector<Pending> unfinished = unfinished_of(paths, found);
  tell_unfinished(terminal, unfinished);
  const auto answer = [&](std::string_view text) { terminal.answer(text); };
  if (options.json) {
    write_trace_json(found, unfinished, answer);
  } else if (options.csv) {
    write_trace_csv(found, answer);
  } else {
    terminal.answer(render_trace(terminal, found));
  }
  if (!options.json) {
    for (const TraceWarning& warning : found.warnings) terminal.note("note: " + warning.text);
  }
  return exit_done;
}

}  // namespace

Verb trace_verb() {
  auto options = std::make_shared<TraceVerbOptions>();
  return {
      .name = "trace",
      .purpose = "What a run's logs and event files tell of its scale, step by step",
      .options = joined(
          {{{"PATH", &options->paths,
             "Logs, TensorBoard, CSV, JSON lines, MLflow's and W&B's files, and folders of them, all of one run; "
             "packed with gzip or zstd, too; - for standard input",
             Presence::required},
            {"--tag", &options->tag, "Of several series that could be the scale, the one of that name"},
            {"--json", &options->json, "Answer in JSON (schema tare.trace/1)"},
            {"--csv", &options->csv, "Answer as a table of comma-separated values"}},
           network_options()}),
      .exclusive = {"--json", "--csv"},
      .closing_words =
          "What no line tells is left out, and never made up: a step without a number, a scale that is rounded.\n"
          "Examples:\n"
          "  tare trace train.log                    the scale's changes, and what was skipped\n"
          "  tare trace run/                         all that the run left, restarts included\n"
          "  tare trace logs/ --json > trace.json\n"
          "  kubectl logs trainer | tare trace - --csv",
      .run = [options](const Terminal& t) { return trace(t, *options); },
  };
}
