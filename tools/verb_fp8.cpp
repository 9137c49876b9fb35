#include <memory>

#include "lib/codec/state_file.hpp"
#include "tools/carry_out.hpp"
#include "tools/network.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

struct Options {
  ChangeOptions change;
  std::string layer;
  Fp8Request fp8;
  std::string release, state;
};

bool has_release(Fp8Verb verb) {
  return verb == Fp8Verb::reencode || verb == Fp8Verb::inject || verb == Fp8Verb::strip || verb == Fp8Verb::regroup;
}

/// Adds one verb; `run` is what the user chose.
CLI::App* add_verb(CLI::App& fp8, Run& run, Fp8Verb which, const char* name, const char* purpose) {
  auto options = std::make_shared<Options>();
  options->fp8.verb = which;
  CLI::App* verb = fp8.add_subcommand(name, purpose);
  verb->add_option("PATH", options->change.path, "As for inspect")->required();
  const CLI::Option* layer =
      verb->add_option("--layer", options->layer, "Only the layers that match; * and ? are wildcards")
          ->required(which == Fp8Verb::regroup);
  if (which == Fp8Verb::strip) {
    verb->add_flag("--remove", options->fp8.remove, "The keys go, too, as in a checkpoint that never had FP8");
  }
  if (which == Fp8Verb::resize || which == Fp8Verb::reset) {
    verb->add_option("--history", options->fp8.history, "How many entries")
        ->required(which == Fp8Verb::resize)
        ->check(CLI::Range(1, 1 << 20));
  }
  if (has_release(which)) {
    verb->add_option("--for", options->release, "The release of TransformerEngine: 1.13, 2.4")
        ->required(which == Fp8Verb::reencode || which == Fp8Verb::regroup);
  }
  if (which == Fp8Verb::reencode) {
    verb->add_flag("--force", options->change.request.force, "Also where that release loses a part of the recipe");
  }
  if (which == Fp8Verb::inject) {
    verb->add_option("STATE", options->state, "A .json or .h5 file of `tare inspect --save`")->required();
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
      if (!options->release.empty()) options->fp8.release = parse_te_release(options->release);
      if (!options->state.empty()) reach_state(options->state);
      if (!options->state.empty()) options->fp8.state = read_fp8_state_file(options->state);
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
          "The keys stay: a tensor becomes empty, as TransformerEngine 2.4 and later write it, an object None. 2.0 to\n"
          "2.3 read no empty tensor: with --for 2.3 it holds a pickled None, which all releases read. What was stored\n"
          "stays in the file, out of every loader's sight, until the checkpoint is saved anew. --remove takes keys "
          "out\n"
          "of pickles and of the metadata of distributed checkpoints, whose other files stay as they are; safetensors\n"
          "become shorter, and the index of a model's shards goes along.");
  add_verb(*fp8, run, Fp8Verb::reset, "reset", "Scales of 1 and empty histories, as training starts")
      ->footer("Histories stay as long as they are, unless --history says otherwise.");
  add_verb(*fp8, run, Fp8Verb::recompute, "recompute", "Scales from the histories, by the framework's own rule")
      ->footer("A scale whose history holds no finite amax stays. scale_inv follows where it is stored.");
  add_verb(*fp8, run, Fp8Verb::rename, "rename", "Other paths for modules, as other releases call them");
  add_verb(*fp8, run, Fp8Verb::resize, "resize", "Histories of another length, as TransformerEngine makes them")
      ->footer(
          "Longer ones end with zeros, shorter ones are cut at their end; amax_history_len goes along. flax's, in\n"
          "msgpack, keep their newest entries; give its modules the same amax_history_length.");
  add_verb(*fp8, run, Fp8Verb::reencode, "reencode", "The form in which another release of TransformerEngine keeps it")
      ->footer(
          "2.0 and later keep a pickle in a uint8 tensor, recipe included; 1.6 to 1.13 an io.BytesIO without one.\n"
          "Scales, histories and their length, and the formats stay. Coming from 1.x the rest of the recipe is\n"
          "DelayedScaling's own; going there, what would be lost is named and refused.");
  add_verb(*fp8, run, Fp8Verb::inject, "inject", "A saved state, for modules that keep none")
      ->footer(
          "Fills keys ._extra_state whose value is None or an empty tensor; layers go by their names.\n"
          "Example: tare inspect old.pt --save state.json && tare fp8 inject new.pt state.json");
  add_verb(*fp8, run, Fp8Verb::regroup, "regroup", "The columns of GroupedLinear in the order of another release")
      ->footer(
          "2.2 and before keep all inputs, then all weights, then all outputs; 2.3 and later input, weight and output\n"
          "of one product after the other. The state does not tell which it has: it is taken to have the other order.\n"
          "Only GroupedLinear changed: name its layers with --layer.");
  fp8->footer(
      "Examples:\n"
      "  tare fp8 strip model.pt --dry-run\n"
      "  tare fp8 reset model.pt --layer 'decoder.layers.1?.*'\n"
      "  tare fp8 recompute run/iter_0004000\n"
      "Every change is one transaction that `tare undo` takes back.");
}
