#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/checkpoint/plain_states.hpp"
#include "lib/codec/json_line.hpp"
#include "lib/codec/state_file.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/dialect/frameworks/tare.hpp"
#include "lib/report/report.hpp"
#include "tools/carry_out.hpp"
#include "tools/network.hpp"
#include "tools/network_options.hpp"
#include "tools/open.hpp"
#include "tools/outcome.hpp"
#include "tools/output_file.hpp"
#include "tools/render.hpp"
#include "tools/tell_made.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

struct InspectVerbOptions {
  std::vector<std::string> paths;
  std::string layers;
  std::string save;
  std::size_t jobs = 0;
  bool json = false;
  bool json_lines = false;
  bool globals = false;
  bool histories = false;
  bool force = false;
};

std::optional<std::string> meant_layers(const InspectVerbOptions& options) {
  return options.layers.empty() ? std::nullopt : std::optional(options.layers);
}

void require_layers(const Checkpoint& checkpoint, const std::string& layers) {
  const auto is_meant = [&](const Scaler& scaler) {
    return scaler.state().dialect->kind == "fp8" && is_layer(scaler.state(), layers);
  };
  if (layers.empty() || std::ranges::any_of(checkpoint.scalers, is_meant)) return;
  throw Error(Status::refused, fmt::format("{}: no layer with FP8 state matches '{}'", checkpoint.resolved, layers),
              "tare inspect without --layer tells what is in there");
}

bool is_own_file(const Checkpoint& checkpoint) {
  return checkpoint.files.size() == 1 && !checkpoint.scalers.empty() &&
         std::ranges::all_of(checkpoint.scalers, [](const Scaler& scaler) { return is_own(scaler.state()); });
}

/// With what else is in them; nothing where programs wrote what no scaler loads, such as Infinity in JSON.
std::optional<std::vector<NamedState>> whole_states(const Checkpoint& checkpoint) {
  try {
    return read_states_file(checkpoint.storage->open(checkpoint.files.front().location));
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// All state of the checkpoint, or that of the layers that are meant. A file of tare's own keeps what else is in it.
void save(const Checkpoint& checkpoint, const InspectVerbOptions& options) {
  const auto layers = meant_layers(options);
  const auto whole = layers || !is_own_file(checkpoint) ? std::nullopt : whole_states(checkpoint);
  write_state_files(whole ? *whole : plain_states(checkpoint, layers), options.save);
}

void answer(const Terminal& terminal, const InspectVerbOptions& options, const Opened& opened) {
  const auto& [checkpoint, pending] = opened;
  if (options.json || options.json_lines) {
    JsonLine line;
    write_inspect_json(
        checkpoint, pending, {.globals = options.globals, .histories = options.histories},
        [&](std::string_view piece) { terminal.answer(options.json_lines ? line.next(piece) : std::string(piece)); });
    if (options.json_lines) terminal.answer("\n");
  } else {
    if (pending) terminal.say(render_pending(*pending));
    terminal.answer(render_checkpoint(terminal, checkpoint, options.layers));
    if (options.globals) terminal.answer(render_globals(terminal, checkpoint));
  }
}

/// The file first: nobody may be there to read the answer.
int save_and_answer(const Terminal& terminal, const InspectVerbOptions& options, const Opened& opened) {
  try {
    save(opened.checkpoint, options);
  } catch (const Error&) {
    answer(terminal, options, opened);
    throw;
  }
  return tell_made(terminal, [&] {
    answer(terminal, options, opened);
    tell_findings(terminal, lost_in_plain_states(opened.checkpoint, meant_layers(options)));
    return std::string();
  });
}

int tell(const Terminal& terminal, const InspectVerbOptions& options, const Opened& opened, bool& has_answered) {
  // Of several paths some may have no such layer; JSON has all of them.
  const bool is_of_one = options.paths.size() == 1 && !options.json && !options.json_lines;
  if (is_of_one || !options.save.empty()) require_layers(opened.checkpoint, options.layers);
  if (has_answered && !options.json && !options.json_lines) terminal.answer("\n");
  has_answered = true;
  if (options.save.empty()) {
    answer(terminal, options, opened);
  } else if (const int code = save_and_answer(terminal, options, opened); code != exit_done) {
    return code;
  }
  return is_negative(opened.checkpoint) ? exit_no : exit_done;
}

/// The process ends behind the last one: to take a million layers apart takes longer than to tell of them.
const Opened& kept_to_the_end(Opened opened) {
  static const Opened* kept = nullptr;
  kept = new Opened(std::move(opened));
  return *kept;
}

int inspect(const Terminal& terminal, const InspectVerbOptions& options) {
  const std::vector<std::string> paths = reached(options.paths);
  reach_output(options.save);
  if (!options.save.empty() && paths.size() > 1) {
    throw Error(Status::invalid_argument, "--save takes the state of one PATH", "inspect them one by one");
  }
  if (!options.save.empty()) require_replaceable(terminal, options.save, options.force);
  bool has_answered = false;
  return outcome_of_each<Opened>(
      terminal, paths, options.jobs > 0 ? options.jobs : usual_jobs(files_of(paths.front())),
      [&](const std::string& path) { return open_for_reading(terminal, path, {.list_globals = options.globals}); },
      [&](const std::string& path, Opened opened) {
        if (&path != &paths.back()) return tell(terminal, options, opened, has_answered);
        return tell(terminal, options, kept_to_the_end(std::move(opened)), has_answered);
      });
}

}  // namespace

Verb inspect_verb() {
  auto options = std::make_shared<InspectVerbOptions>();
  return {
      .name = "inspect",
      .purpose = "Show the scaler state of a checkpoint",
      .options = joined(
          {{{"PATH", &options->paths, "Checkpoint files, folders of rank files, or run folders; - for standard input",
             Presence::required},
            {"--jobs", &options->jobs, "How many checkpoints are read at the same time (default: 2; of URLs 8)"},
            {"--json", &options->json, "Answer in JSON (schema tare.inspect/1): a document a PATH"},
            {"--json-lines", &options->json_lines, "The same, a document a line"},
            {"--histories", &options->histories,
             "With --json: all numbers of long fields, such as amax histories, also where they are more than 65,536"},
            {"--layer", &options->layers, "Show every FP8 tensor of the layers that match: * and ? are wildcards"},
            {"--save", &options->save,
             "Write all state to a file, .json or .h5, that tare's scalers load; several states are a list (schema "
             "tare.states/1)"},
            {"--force", &options->force, "Replace the file of --save"},
            {"--globals", &options->globals, "List every class and function that the pickles name"}},
           network_options()}),
      .closing_words =
          "Examples:\n"
          "  tare inspect checkpoint.pt              one file\n"
          "  tare inspect run/global_step4200        all rank files of a step, compared\n"
          "  tare inspect run                        the step that the framework would resume from\n"
          "  tare inspect run/checkpoint-*           each of them\n"
          "  tare inspect model.pt --layer 'decoder.layers.1?.*'   the FP8 state of these layers, tensor by tensor\n"
          "  tare inspect checkpoint.pt --globals    what could run if it were loaded without weights_only",
      .run = [options](const Terminal& t) { return inspect(t, *options); },
  };
}
