#include <memory>

#include "lib/codec/state_file.hpp"
#include "tools/carry_out.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

constexpr const char* of_strip =
    "The keys stay: a tensor becomes empty, as TransformerEngine 2.4 and later write it, an object None. 2.0 to\n"
    "2.3 read no empty tensor: with --for 2.3 it holds a pickled None, which all releases read. What was stored\n"
    "stays in the file, out of every loader's sight, until the checkpoint is saved anew. --remove takes keys out\n"
    "of pickles and of the metadata of distributed checkpoints, whose other files stay as they are; safetensors\n"
    "become shorter, and the index of a model's shards goes along.";

struct Options {
  ChangeOptions change;
  Fp8Request fp8;
  std::string release, state;
};

Option layer(Options& options, Presence presence = Presence::optional) {
  return {"--layer", &options.change.request.layer, "Only the layers that match; * and ? are wildcards", presence};
}

Option release(Options& options, Presence presence = Presence::optional) {
  return {"--for", &options.release, "The release of TransformerEngine: 1.13, 2.4", presence};
}

Option history(Options& options, Presence presence = Presence::optional) {
  const auto set = [&options](std::int64_t entries) { options.fp8.history = entries; };
  return {"--history", Within{1, 1 << 20, set}, "How many entries", presence};
}

int repair(const Terminal& terminal, Options& options) {
  EditRequest& request = options.change.request;
  if (!options.release.empty()) options.fp8.release = parse_te_release(options.release);
  if (!options.state.empty()) {
    LoadedState loaded = read_fp8_state_file(options.state);
    tell_findings(terminal, loaded.findings);
    options.fp8.state = std::move(loaded.state);
  }
  request.fp8 = options.fp8;
  request.all = true;
  return carry_out(terminal, options.change);
}

/// A verb that changes layers; `takes` are the options that not all such verbs have.
Verb layers_verb(Fp8Verb which, const char* name, const char* purpose, OptionTable (*takes)(Options&),
                 const char* closing_words = "") {
  auto options = std::make_shared<Options>();
  options->fp8.verb = which;
  return {
      .name = name,
      .purpose = purpose,
      .options = joined({{{"PATH", &options->change.path, "As for inspect", Presence::required}},
                         takes(*options),
                         change_options(options->change)}),
      .closing_words = closing_words,
      .run = [options](const Terminal& terminal) { return repair(terminal, *options); },
  };
}

Verb strip_verb() {
  const auto takes = [](Options& o) -> OptionTable {
    return {
        layer(o), {"--remove", &o.fp8.remove, "The keys go, too, as in a checkpoint that never had FP8"}, release(o)};
  };
  return layers_verb(Fp8Verb::strip, "strip", "Leave no FP8 state, so that the checkpoint loads where FP8 is off",
                     takes, of_strip);
}

Verb reset_verb() {
  const auto takes = [](Options& o) -> OptionTable { return {layer(o), history(o)}; };
  return layers_verb(Fp8Verb::reset, "reset", "Scales of 1 and empty histories, as training starts", takes,
                     "Histories stay as long as they are, unless --history says otherwise.");
}

Verb recompute_verb() {
  const auto takes = [](Options& o) -> OptionTable { return {layer(o)}; };
  return layers_verb(Fp8Verb::recompute, "recompute", "Scales from the histories, by the framework's own rule", takes,
                     "A scale whose history holds no finite amax stays. scale_inv follows where it is stored.");
}

Verb rename_verb() {
  const auto takes = [](Options& o) -> OptionTable {
    return {layer(o),
            {"--from", &o.fp8.from, "Parts of a module's path: core_attention.fused_attention", Presence::required},
            {"--to", &o.fp8.to, "What stands there instead: core_attention", Presence::required}};
  };
  return layers_verb(Fp8Verb::rename, "rename", "Other paths for modules, as other releases call them", takes);
}

Verb resize_verb() {
  const auto takes = [](Options& o) -> OptionTable { return {layer(o), history(o, Presence::required)}; };
  return layers_verb(
      Fp8Verb::resize, "resize", "Histories of another length, as TransformerEngine makes them", takes,
      "Longer ones end with zeros, shorter ones are cut at their end; amax_history_len goes along. flax's, in\n"
      "msgpack, keep their newest entries; give its modules the same amax_history_length.");
}

Verb reencode_verb() {
  const auto takes = [](Options& o) -> OptionTable {
    return {layer(o),
            release(o, Presence::required),
            {"--force", &o.change.request.force, "Also where that release loses a part of the recipe"}};
  };
  return layers_verb(
      Fp8Verb::reencode, "reencode", "The form in which another release of TransformerEngine keeps it", takes,
      "2.0 and later keep a pickle in a uint8 tensor, recipe included; 1.6 to 1.13 an io.BytesIO without one.\n"
      "Scales, histories and their length, and the formats stay. Coming from 1.x the rest of the recipe is\n"
      "DelayedScaling's own; going there, what would be lost is named and refused.");
}

Verb inject_verb() {
  const auto takes = [](Options& o) -> OptionTable {
    return {
        layer(o), release(o), {"STATE", &o.state, "A .json or .h5 file of `tare inspect --save`", Presence::required}};
  };
  return layers_verb(Fp8Verb::inject, "inject", "A saved state, for modules that keep none", takes,
                     "Fills keys ._extra_state whose value is None or an empty tensor; layers go by their names.\n"
                     "Example: tare inspect old.pt --save state.json && tare fp8 inject new.pt state.json");
}

Verb regroup_verb() {
  const auto takes = [](Options& o) -> OptionTable {
    return {layer(o, Presence::required), release(o, Presence::required)};
  };
  return layers_verb(
      Fp8Verb::regroup, "regroup", "The columns of GroupedLinear in the order of another release", takes,
      "2.2 and before keep all inputs, then all weights, then all outputs; 2.3 and later input, weight and output\n"
      "of one product after the other. The state does not tell which it has: it is taken to have the other order.\n"
      "Only GroupedLinear changed: name its layers with --layer.");
}

}  // namespace

Verb fp8_verb() {
  return {
      .name = "fp8",
      .purpose = "Repair the FP8 state of a checkpoint's layers",
      .verbs = {strip_verb(), reset_verb(), recompute_verb(), rename_verb(), resize_verb(), reencode_verb(),
                inject_verb(), regroup_verb()},
      .closing_words =
          "Examples:\n"
          "  tare fp8 strip model.pt --dry-run\n"
          "  tare fp8 reset model.pt --layer 'decoder.layers.1?.*'\n"
          "  tare fp8 recompute run/iter_0004000\n"
          "Every change is one transaction that `tare undo` takes back.",
  };
}
