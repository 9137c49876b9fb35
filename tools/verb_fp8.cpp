#include <memory>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/codec/state_file.hpp"
#include "tools/carry_out.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

constexpr const char* of_strip =
    "The keys stay: a tensor holds a pickled None, which all releases of TransformerEngine read, an object is None.\n"
    "With --for 2.4 a tensor becomes empty, as 2.4 and later write it. Recipes without scales (current scaling, block\n"
    "scaling, MXFP8) are FP8 state, too. What was stored stays in the file, out of every loader's sight, until the\n"
    "checkpoint is saved anew. --remove takes keys out of pickles and of the metadata of distributed checkpoints, "
    "whose other files stay as they are; safetensors\n"
    "become shorter, and the index of a model's shards goes along.";

struct Fp8VerbOptions {
  ChangeOptions change;
  std::vector<std::string> paths;
  bool remove_keys = false;
  std::int64_t history = 0;
  std::string from, to, release;
};

Option layer(Fp8VerbOptions& options, Presence presence = Presence::optional) {
  return {"--layer", &options.change.request.layer, "Only the layers that match; * and ? are wildcards", presence};
}

Option release(Fp8VerbOptions& options, Presence presence = Presence::optional) {
  return {"--for", &options.release, "The release of TransformerEngine: 1.13, 2.4", presence};
}

Option history(Fp8VerbOptions& options, Presence presence = Presence::optional) {
  const auto set = [&options](std::int64_t entries) { options.history = entries; };
  return {"--history", Within{1, 1 << 20, set}, "How many entries", presence};
}

std::optional<TeRelease> release_of(const Fp8VerbOptions& options) {
  return options.release.empty() ? std::nullopt : std::optional(parse_te_release(options.release));
}

/// What a verb asks for; files that it names are read.
using Action = EditAction (*)(const Terminal&, Fp8VerbOptions&);

OptionTable several_paths(Fp8VerbOptions& options) {
  return {{"PATH", &options.paths, "As for inspect; each is changed by itself", Presence::required},
          jobs_option(options.change)};
}

/// A verb that changes layers; `takes` are the options that not all such verbs have.
Verb layers_verb(const char* name, const char* purpose, OptionTable (*takes)(Fp8VerbOptions&), Action action,
                 const char* closing_words = "", OptionTable (*paths)(Fp8VerbOptions&) = several_paths) {
  auto options = std::make_shared<Fp8VerbOptions>();
  return {
      .name = name,
      .purpose = purpose,
      .options = joined({paths(*options), takes(*options), change_options(options->change)}),
      .closing_words = closing_words,
      .run =
          [options, action](const Terminal& terminal) {
            options->change.request.action = action(terminal, *options);
            options->change.request.all = true;
            return carry_out_each(terminal, options->change, options->paths);
          },
  };
}

Verb strip_verb() {
  const auto takes = [](Fp8VerbOptions& o) -> OptionTable {
    return {
        layer(o), {"--remove", &o.remove_keys, "The keys go, too, as in a checkpoint that never had FP8"}, release(o)};
  };
  const auto action = [](const Terminal&, Fp8VerbOptions& o) -> EditAction {
    return StripFp8{release_of(o), o.remove_keys};
  };
  return layers_verb("strip", "Leave no FP8 state, so that the checkpoint loads where FP8 is off", takes, action,
                     of_strip);
}

Verb reset_verb() {
  const auto takes = [](Fp8VerbOptions& o) -> OptionTable { return {layer(o), history(o)}; };
  const auto action = [](const Terminal&, Fp8VerbOptions& o) -> EditAction { return ResetFp8{o.history}; };
  return layers_verb("reset", "Scales of 1 and empty histories, as training starts", takes, action,
                     "Histories stay as long as they are, unless --history says otherwise.");
}

Verb recompute_verb() {
  const auto takes = [](Fp8VerbOptions& o) -> OptionTable { return {layer(o)}; };
  const auto action = [](const Terminal&, Fp8VerbOptions&) -> EditAction { return RecomputeFp8{}; };
  return layers_verb("recompute", "Scales from the histories, by the framework's own rule", takes, action,
                     "A scale whose history holds no finite amax stays. scale_inv follows where it is stored.");
}

Verb rename_verb() {
  const auto takes = [](Fp8VerbOptions& o) -> OptionTable {
    return {layer(o),
            {"--from", &o.from, "Parts of a module's path: core_attention.fused_attention", Presence::required},
            {"--to", &o.to, "What stands there instead: core_attention", Presence::required}};
  };
  const auto action = [](const Terminal&, Fp8VerbOptions& o) -> EditAction { return RenameFp8{o.from, o.to}; };
  return layers_verb("rename", "Other paths for modules, as other releases call them", takes, action,
                     "What --from and --to name are whole parts of a path, between dots; the states stay as they are.\n"
                     "Example: tare fp8 rename model.pt --from core_attention.fused_attention --to core_attention");
}

Verb resize_verb() {
  const auto takes = [](Fp8VerbOptions& o) -> OptionTable { return {layer(o), history(o, Presence::required)}; };
  const auto action = [](const Terminal&, Fp8VerbOptions& o) -> EditAction { return ResizeFp8{o.history}; };
  return layers_verb(
      "resize", "Histories of another length, as TransformerEngine makes them", takes, action,
      "Longer ones end with zeros, shorter ones are cut at their end; amax_history_len goes along. flax's, in\n"
      "msgpack, and those of tare's own states keep their newest entries; give flax's modules the same\n"
      "amax_history_length.");
}

Verb reencode_verb() {
  const auto takes = [](Fp8VerbOptions& o) -> OptionTable {
    return {layer(o),
            release(o, Presence::required),
            {"--force", &o.change.request.force, "Also where that release loses a part of the recipe"}};
  };
  const auto action = [](const Terminal&, Fp8VerbOptions& o) -> EditAction { return ReencodeFp8{*release_of(o)}; };
  return layers_verb(
      "reencode", "The form in which another release of TransformerEngine keeps it", takes, action,
      "2.0 and later keep a pickle in a uint8 tensor, recipe included; 1.6 to 1.13 an io.BytesIO without one.\n"
      "Scales, histories and their length, and the formats stay. Coming from 1.x the rest of the recipe is\n"
      "DelayedScaling's own; going there, what would be lost is named and refused.");
}

/// The state is the last of what is named: an option behind them would keep a place of its own from being found.
OptionTable paths_and_state(Fp8VerbOptions& options) {
  return {{"PATH", &options.paths,
           "As for inspect, each is changed by itself; behind them STATE, a .json or .h5 file of `tare inspect --save`",
           Presence::required},
          jobs_option(options.change)};
}

std::string taken_state(std::vector<std::string>& paths) {
  if (paths.size() < 2) {
    throw Error(Status::invalid_argument, "STATE is required: a .json or .h5 file of `tare inspect --save`",
                "give it behind the checkpoints: tare fp8 inject new.pt state.json");
  }
  std::string state = std::move(paths.back());
  paths.pop_back();
  return state;
}

Verb inject_verb() {
  const auto takes = [](Fp8VerbOptions& o) -> OptionTable { return {layer(o), release(o)}; };
  const auto action = [](const Terminal& terminal, Fp8VerbOptions& o) -> EditAction {
    const auto release = release_of(o);
    LoadedState loaded = read_fp8_state_file(taken_state(o.paths));
    tell_findings(terminal, loaded.findings);
    return InjectFp8{std::move(loaded.state), release};
  };
  return layers_verb(
      "inject", "A saved state, for modules that keep none", takes, action,
      "Fills keys ._extra_state whose value is None, an empty tensor or a recipe without scales; layers go by their\n"
      "names.\n"
      "Example: tare inspect old.pt --save state.json && tare fp8 inject new.pt state.json",
      paths_and_state);
}

Verb regroup_verb() {
  const auto takes = [](Fp8VerbOptions& o) -> OptionTable {
    return {layer(o, Presence::required), release(o, Presence::required)};
  };
  const auto action = [](const Terminal&, Fp8VerbOptions& o) -> EditAction { return RegroupFp8{*release_of(o)}; };
  return layers_verb(
      "regroup", "The columns of GroupedLinear in the order of another release", takes, action,
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
