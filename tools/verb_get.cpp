#include <fmt/format.h>

#include <memory>

#include "lib/base/error.hpp"
#include "lib/checkpoint/choose.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/edit/field_key.hpp"
#include "lib/edit/fp8_key.hpp"
#include "tools/network_options.hpp"
#include "tools/open.hpp"
#include "tools/render.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

struct Options {
  std::string path;
  std::string key;
  std::string at;
  std::string layer;
};

/// The only layer that is meant.
const Scaler& chosen_layer(const Checkpoint& checkpoint, const Options& options, bool has_layer) {
  const auto layers = chosen_fp8(checkpoint, {has_layer ? std::optional(options.layer) : std::nullopt, false});
  if (layers.size() == 1) return *layers.front();
  throw Error(Status::refused, fmt::format("{} layers match '{}'", layers.size(), options.layer),
              fmt::format("get prints one value: choose one, such as '{}'", layer_name(layers.front()->state())));
}

int get(const Terminal& terminal, const Options& options, bool has_place, bool has_layer) {
  const auto [checkpoint, pending] = open_for_reading(terminal, options.path, {});
  if (pending) terminal.say(render_pending(*pending));  // first: it may be why copies disagree
  const Choice choice{.at = has_place ? std::optional(options.at) : std::nullopt, .ways = "--at PLACE"};
  const bool is_fp8 = is_fp8_key(checkpoint, options.key, has_layer);
  const Scaler* scaler =
      is_fp8 ? &chosen_layer(checkpoint, options, has_layer) : chosen_scalers(checkpoint, choice).front();
  std::vector<std::string> files;
  for (const std::size_t file : files_of(*scaler)) files.push_back(checkpoint.files[file].location);
  const FoundScaler& state = scaler->state();
  const std::string value =
      value_text(is_fp8 ? fp8_value(state, fp8_key_of(state, options.key)) : field_of(state, options.key).value);
  terminal.note(render_files(checkpoint.resolved, files));
  terminal.answer(value + "\n");
  return exit_of(terminal, checkpoint);
}

}  // namespace

void add_get(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("get", "Print one bare value, for scripts");
  verb->add_option("PATH", options->path, "As for inspect")->required();
  verb->add_option("KEY", options->key, "A role (scale, window ...) or a native name; native:NAME forces the latter")
      ->required();
  const CLI::Option* at = verb->add_option("--at", options->at, "Which scaler, by the place that inspect prints");
  const CLI::Option* layer =
      verb->add_option("--layer", options->layer, "FP8 state: the layer that matches; * and ? are wildcards");
  add_network_options(*verb);
  verb->footer(
      "Examples:\n"
      "  tare get run/global_step4200 scale\n"
      "  tare get model.pt scale.weight --layer layers.3.mlp       a multiplier, as inspect shows it\n"
      "  tare get model.safetensors weight_scale --layer '*.0.q_proj'   what the file stores");
  verb->callback([options, at, layer, &run] {
    run = [options, at, layer](const Terminal& t) { return get(t, *options, at->count() > 0, layer->count() > 0); };
  });
}
