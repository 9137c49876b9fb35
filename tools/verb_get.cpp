#include <fmt/format.h>

#include <memory>
#include <optional>

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

struct GetVerbOptions {
  std::string path;
  std::string key;
  std::optional<std::string> at;
  std::optional<std::string> layer;
};

/// The only state that is meant: a layer's, or a set of many.
const Scaler& chosen_layer(const Checkpoint& checkpoint, const GetVerbOptions& options) {
  const auto layers = chosen_fp8(checkpoint, {options.layer, false});
  if (layers.size() == 1) return *layers.front();
  throw Error(Status::refused, fmt::format("{} layers match '{}'", layers.size(), options.layer.value_or("")),
              fmt::format("get prints one value: choose one, such as '{}'", layer_name(layers.front()->state())));
}

int get(const Terminal& terminal, const GetVerbOptions& options) {
  const auto [checkpoint, pending] = open_for_reading(terminal, options.path, {});
  if (pending) terminal.say(render_pending(*pending));  // first: it may be why copies disagree
  const Choice choice{.at = options.at, .ways = "--at PLACE"};
  const bool is_fp8 = is_fp8_key(checkpoint, options.key, options.layer.has_value());
  const Scaler* scaler = is_fp8 ? &chosen_layer(checkpoint, options) : chosen_scalers(checkpoint, choice).front();
  std::vector<std::string> files;
  for (const std::size_t file : files_of(*scaler)) files.push_back(checkpoint.files[file].location);
  const FoundScaler& state = scaler->state();
  const std::string value = value_text(is_fp8 ? fp8_value(state, fp8_key_of(state, options.key), {options.layer, false})
                                              : field_of(state, options.key).value);
  terminal.note(render_files(checkpoint.resolved, files));
  terminal.answer(value + "\n");
  return exit_of(terminal, checkpoint);
}

}  // namespace

Verb get_verb() {
  auto options = std::make_shared<GetVerbOptions>();
  return {
      .name = "get",
      .purpose = "Print one bare value, for scripts",
      .options =
          joined({{{"PATH", &options->path, "As for inspect", Presence::required},
                   {"KEY", &options->key, "A role (scale, window ...) or a native name; native:NAME forces the latter",
                    Presence::required},
                   {"--at", &options->at, "Which scaler, by the place that inspect prints"},
                   {"--layer", &options->layer, "FP8 state: the layer that matches; * and ? are wildcards"}},
                  network_options()}),
      .closing_words =
          "Examples:\n"
          "  tare get run/global_step4200 scale\n"
          "  tare get model.pt scale.weight --layer layers.3.mlp       a multiplier, as inspect shows it\n"
          "  tare get model.safetensors weight_scale --layer '*.0.mlp.down_proj'   what the file stores",
      .run = [options](const Terminal& t) { return get(t, *options); },
  };
}
