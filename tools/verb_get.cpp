#include <memory>

#include "lib/checkpoint/choose.hpp"
#include "lib/edit/field_key.hpp"
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
};

int get(const Terminal& terminal, const Options& options, bool has_place) {
  const auto [checkpoint, pending] = open_for_reading(terminal, options.path, {});
  const Choice choice{.at = has_place ? std::optional(options.at) : std::nullopt, .ways = "--at PLACE"};
  const Scaler* scaler = chosen_scalers(checkpoint, choice).front();
  if (pending) terminal.say(render_pending(*pending));
  std::vector<std::string> files;
  for (const std::size_t file : files_of(*scaler)) files.push_back(checkpoint.files[file].location);
  const std::string value = value_text(field_of(scaler->state(), options.key).value);
  terminal.note(render_files(checkpoint.resolved, files));
  terminal.answer(value + "\n");
  return exit_done;
}

}  // namespace

void add_get(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("get", "Print one bare value, for scripts");
  verb->add_option("PATH", options->path, "As for inspect")->required();
  verb->add_option("KEY", options->key, "A role (scale, window ...) or a native name; native:NAME forces the latter")
      ->required();
  const CLI::Option* at = verb->add_option("--at", options->at, "Which scaler, by the place that inspect prints");
  add_network_options(*verb);
  verb->footer("Example:\n  tare get run/global_step4200 scale");
  verb->callback(
      [options, at, &run] { run = [options, at](const Terminal& t) { return get(t, *options, at->count() > 0); }; });
}
