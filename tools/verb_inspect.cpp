#include <memory>

#include "lib/report/report.hpp"
#include "tools/open.hpp"
#include "tools/render.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

struct Options {
  std::string path;
  bool json = false;
  bool globals = false;
};

int inspect(const Terminal& terminal, const Options& options) {
  const auto [checkpoint, pending] = open_for_reading(terminal, options.path, {.list_globals = options.globals});
  if (options.json) {
    terminal.answer(inspect_json(checkpoint, pending, {.globals = options.globals}));
  } else {
    if (pending) terminal.say(render_pending(*pending));
    terminal.answer(render_checkpoint(terminal, checkpoint));
    if (options.globals) terminal.answer(render_globals(terminal, checkpoint));
  }
  return is_negative(checkpoint) ? exit_no : exit_done;
}

}  // namespace

void add_inspect(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("inspect", "Show the scaler state of a checkpoint");
  verb->add_option("PATH", options->path, "A checkpoint file, a folder of rank files, or a run folder")->required();
  verb->add_flag("--json", options->json, "Answer in JSON (schema tare.inspect/1)");
  verb->add_flag("--globals", options->globals, "List every class and function that the pickles name");
  verb->footer(
      "Examples:\n"
      "  tare inspect checkpoint.pt              one file\n"
      "  tare inspect run/global_step4200        all rank files of a step, compared\n"
      "  tare inspect run                        the step that the framework would resume from\n"
      "  tare inspect checkpoint.pt --globals    what could run if it were loaded without weights_only");
  verb->callback([options, &run] { run = [options](const Terminal& t) { return inspect(t, *options); }; });
}
