#include <memory>

#include "tools/carry_out.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

struct Options {
  ChangeOptions change;
  std::vector<std::string> assignments;
  std::string at;
  std::string layer;
};

int edit(const Terminal& terminal, Options& options, bool has_place, bool has_layer) {
  EditRequest& request = options.change.request;
  for (const std::string& text : options.assignments) request.set.push_back(parse_assignment(text));
  if (has_place) request.at = options.at;
  if (has_layer) request.layer = options.layer;
  return carry_out(terminal, options.change);
}

}  // namespace

void add_edit(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  EditRequest& request = options->change.request;
  CLI::App* verb =
      app.add_subcommand("edit", "Change scaler state in place, in every file that holds a copy, or in none");
  verb->add_option("PATH", options->change.path, "As for inspect")->required();
  verb->add_option("ASSIGNMENT", options->assignments,
                   "KEY=VALUE: a role or native name, and a number: 65536, 2^16, 0x1p16; or true, false");
  const CLI::Option* at = verb->add_option("--at", options->at, "Which scaler, by the place that inspect prints");
  const CLI::Option* layer =
      verb->add_option("--layer", options->layer, "FP8 state: the layers that match; * and ? are wildcards");
  verb->add_flag("--all", request.all, "Every scaler, or every layer, where there are several");
  verb->add_flag("--align", request.align,
                 "Where copies disagree: give all of them the state that most have, then the values given");
  verb->add_flag("--force", request.force, "Write values that the framework could not use");
  add_change_options(*verb, options->change);
  verb->footer(
      "Examples:\n"
      "  tare edit run/global_step4200 scale=65536 --dry-run\n"
      "  tare edit run/global_step4200 scale=2^16 growth_tracker=0\n"
      "  tare edit gan.pt scale=1024 --at scaler_G\n"
      "  tare edit checkpoint.pt window=500 --yes\n"
      "  tare edit run/global_step4200 --align\n"
      "  tare edit model.pt --layer 'layers.3.*' scale.input=2^4 'amax_history.grad_*=0'\n"
      "FP8 state: scale.TENSOR (a multiplier; where the framework divides, the reciprocal is stored) and\n"
      "amax_history.TENSOR (one number for the whole history); TENSOR as inspect names it, * for all. With a native\n"
      "name (weight_scale=0.02) the number is what the file will hold. Scales that stored weights were quantised with\n"
      "need --force: the weights would mean other values.\n"
      "An edit changes the bytes of its fields and their checksums. `tare undo` restores every byte.");
  verb->callback([options, at, layer, &run] {
    run = [options, at, layer](const Terminal& t) { return edit(t, *options, at->count() > 0, layer->count() > 0); };
  });
}
