#include <memory>

#include "tools/carry_out.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

constexpr const char* closing_words =
    "Examples:\n"
    "  tare edit run/global_step4200 scale=65536 --dry-run\n"
    "  tare edit run/global_step4200 scale=2^16 growth_tracker=0\n"
    "  tare edit gan.pt scale=1024 --at scaler_G\n"
    "  tare edit checkpoint.pt window=500 --yes\n"
    "  tare edit run/global_step4200 --align\n"
    "  tare edit s3://bucket/run/global_step4200 scale=65536 --dry-run\n"
    "  tare edit model.pt --layer 'layers.3.*' scale.input=2^4 'amax_history.grad_*=0'\n"
    "FP8 state: scale.TENSOR (a multiplier; where the framework divides, the reciprocal is stored) and\n"
    "amax_history.TENSOR (one number for the whole history); TENSOR as inspect names it, * for all. With a native\n"
    "name (weight_scale=0.02) the number is what the file will hold. Scales that stored weights were quantised with\n"
    "need --force: the weights would mean other values.\n"
    "An edit changes the bytes of its fields and their checksums. `tare undo` restores every byte.\n"
    "Objects in s3://, gs:// and az:// are changed where they are, each only if it is still what was read.";

struct Options {
  ChangeOptions change;
  std::vector<std::string> assignments;
  bool align = false;
};

int edit(const Terminal& terminal, Options& options) {
  Assign action{{}, options.align};
  for (const std::string& text : options.assignments) action.values.push_back(parse_assignment(text));
  options.change.request.action = std::move(action);
  return carry_out(terminal, options.change);
}

}  // namespace

Verb edit_verb() {
  auto options = std::make_shared<Options>();
  EditRequest& request = options->change.request;
  return {
      .name = "edit",
      .purpose = "Change scaler state in place, in every file that holds a copy, or in none",
      .options = joined({{{"PATH", &options->change.path, "As for inspect", Presence::required},
                          {"ASSIGNMENT", &options->assignments,
                           "KEY=VALUE: a role or native name, and a number: 65536, 2^16, 0x1p16; or true, false"},
                          {"--at", &request.at, "Which scaler, by the place that inspect prints"},
                          {"--layer", &request.layer, "FP8 state: the layers that match; * and ? are wildcards"},
                          {"--all", &request.all, "Every scaler, or every layer, where there are several"},
                          {"--align", &options->align,
                           "Where copies disagree: give all of them the state that most have, of equals the first, "
                           "then the values given"},
                          {"--force", &request.force, "Write values that the framework could not use"}},
                         change_options(options->change)}),
      .closing_words = closing_words,
      .run = [options](const Terminal& t) { return edit(t, *options); },
  };
}
