#include <memory>

#include "lib/report/report.hpp"
#include "tools/render.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

struct Options {
  std::string a;
  std::string b;
  bool json = false;
};

int diff(const Terminal& terminal, const Options& options) {
  const Checkpoint a = open_checkpoint(options.a, {});
  const Checkpoint b = open_checkpoint(options.b, {});
  const auto found = differences(a, b);
  for (const std::string& path : {options.a, options.b}) {
    const auto pending = find_pending(system_files(), path, {});
    if (pending) terminal.say(render_pending(*pending));
  }
  terminal.answer(options.json ? diff_json(a, b, found) : render_differences(terminal, found));
  return found.empty() ? exit_done : exit_no;
}

}  // namespace

void add_diff(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("diff", "How the scaler state of two checkpoints differs");
  verb->add_option("A", options->a, "As for inspect")->required();
  verb->add_option("B", options->b, "As for inspect")->required();
  verb->add_flag("--json", options->json, "Answer in JSON (schema tare.diff/1)");
  verb->footer("Exit 0: no difference. 1: some.\nExample:\n  tare diff run/global_step4100 run/global_step4200");
  verb->callback([options, &run] { run = [options](const Terminal& t) { return diff(t, *options); }; });
}
