#include <memory>

#include "tools/carry_out.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

struct Options {
  ChangeOptions change;
  std::string layer;
  Fp8Request fp8;
};

/// Adds one verb; `run` is what the user chose.
CLI::App* add_verb(CLI::App& fp8, Run& run, Fp8Verb which, const char* name, const char* purpose) {
  auto options = std::make_shared<Options>();
  options->fp8.verb = which;
  CLI::App* verb = fp8.add_subcommand(name, purpose);
  verb->add_option("PATH", options->change.path, "As for inspect")->required();
  const CLI::Option* layer =
      verb->add_option("--layer", options->layer, "Only the layers that match; * and ? are wildcards");
  if (which == Fp8Verb::resize) {
    verb->add_option("--history", options->fp8.history, "How many entries")->required()->check(CLI::Range(1, 1 << 20));
  }
  if (which == Fp8Verb::rename) {
    verb->add_option("--from", options->fp8.from, "Parts of a module's path: core_attention.fused_attention")
        ->required();
    verb->add_option("--to", options->fp8.to, "What stands there instead: core_attention")->required();
  }
  add_change_options(*verb, options->change);
  verb->callback([options, layer, &run] {
    run = [options, layer](const Terminal& terminal) {
      EditRequest& request = options->change.request;
      request.fp8 = options->fp8;
      request.all = true;
      if (layer->count() > 0) request.layer = options->layer;
      return carry_out(terminal, options->change);
    };
  });
  return verb;
}

}  // namespace

void add_fp8(CLI::App& app, Run& run) {
  CLI::App* fp8 = app.add_subcommand("fp8", "Repair the FP8 state of a checkpoint's layers");
  fp8->require_subcommand(1);
  add_verb(*fp8, run, Fp8Verb::strip, "strip", "Leave no FP8 state, so that the checkpoint loads where FP8 is off")
      ->footer(
          "The keys stay: a tensor becomes empty, as newer TransformerEngine writes it, an object None. What was "
          "stored\n"
          "stays in the file, out of every loader's sight, until the checkpoint is saved anew.");
  add_verb(*fp8, run, Fp8Verb::reset, "reset", "Scales of 1 and empty histories, as training starts");
  add_verb(*fp8, run, Fp8Verb::recompute, "recompute", "Scales from the histories, by the framework's own rule")
      ->footer("A scale whose history holds no finite amax stays. scale_inv follows where it is stored.");
  add_verb(*fp8, run, Fp8Verb::rename, "rename", "Other paths for modules, as other releases call them");
  add_verb(*fp8, run, Fp8Verb::resize, "resize", "Histories of another length, as TransformerEngine makes them")
      ->footer("Longer ones end with zeros, shorter ones are cut at their end; amax_history_len goes along.");
  fp8->footer(
      "Examples:\n"
      "  tare fp8 strip model.pt --dry-run\n"
      "  tare fp8 reset model.pt --layer 'decoder.layers.1?.*'\n"
      "  tare fp8 recompute run/iter_0004000\n"
      "Every change is one transaction that `tare undo` takes back.");
}
