#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "tools/carry_out.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

constexpr const char* edit_closing_words =
    "Examples:\n"
    "  tare edit run/global_step4200 scale=65536 --dry-run\n"
    "  tare edit checkpoint.pt scale=2^16 growth_tracker=0\n"
    "  tare edit gan.pt scale=1024 --at scaler_G\n"
    "  tare edit checkpoint.pt window=500 --yes\n"
    "  tare edit run/global_step4200 --align\n"
    "  tare edit s3://bucket/run/global_step4200 scale=65536 --dry-run\n"
    "  tare edit run/checkpoint-* scale=2^15 --yes         each of them, one exit code\n"
    "  tare edit 's3://bucket/run/step*' scale=2^15 --yes\n"
    "  tare edit model.pt --layer 'layers.3.*' scale.input=2^4 'amax_history.grad_*=0'\n"
    "FP8 state: scale.TENSOR (a multiplier; where the framework divides, the reciprocal is stored) and\n"
    "amax_history.TENSOR (one number for the whole history); TENSOR as inspect names it, * for all. With a native\n"
    "name (weight_scale=0.02) the number is what the file will hold. Scales that stored weights were quantised with\n"
    "need --force: the weights would mean other values.\n"
    "An edit changes the bytes of its fields and their checksums. `tare undo` restores every byte.\n"
    "Objects in s3://, gs:// and az:// are changed where they are, each only if it is still what was read.";

struct EditVerbOptions {
  ChangeOptions change;
  std::vector<std::string> words;  ///< behind the first path: more of them, then assignments
  bool align = false;
};

bool is_there(const std::string& path) {
  return local_files().type(path) != FileType::absent;
}

bool has_value(const std::string& word) {
  const std::string value = word.substr(word.find('=') + 1);
  return value == "true" || value == "false" || parse_number(value).has_value();
}

/// Names of checkpoints have '=', too: epoch=9.ckpt.
bool is_path(const std::string& word) {
  const bool may_be_assignment = word.find('=') != word.npos && word.front() != '=' && !is_url(word);
  if (!may_be_assignment) return true;
  if (!is_there(word)) return false;
  if (!has_value(word) || word.find('/') != word.npos) return true;
  throw Error(Status::invalid_argument, fmt::format("'{}' is a file here, and may be an assignment", word),
              fmt::format("./{} is the file; for the assignment, run tare in another folder", word));
}

int edit(const Terminal& terminal, EditVerbOptions& options) {
  const auto first = std::ranges::find_if_not(options.words, is_path);
  std::vector<std::string> paths{options.change.path};
  paths.insert(paths.end(), options.words.begin(), first);
  Assign action{{}, options.align};
  for (auto word = first; word != options.words.end(); ++word) action.values.push_back(parse_assignment(*word));
  options.change.request.action = std::move(action);
  return carry_out_each(terminal, options.change, paths);
}

}  // namespace

Verb edit_verb() {
  auto options = std::make_shared<EditVerbOptions>();
  EditRequest& request = options->change.request;
  return {
      .name = "edit",
      .purpose = "Change scaler state in place, in every file that holds a copy, or in none",
      .options = joined({{{"PATH", &options->change.path,
                           "As for inspect. More may follow, each edited by itself; then what they are to become",
                           Presence::required},
                          {"ASSIGNMENT", &options->words,
                           "KEY=VALUE: a role or native name, and a number: 65536, 2^16, 0x1p16; or true, false"},
                          jobs_option(options->change),
                          {"--at", &request.at, "Which scaler, by the place that inspect prints"},
                          {"--layer", &request.layer, "FP8 state: the layers that match; * and ? are wildcards"},
                          {"--all", &request.all, "Every scaler, or every layer, where there are several"},
                          {"--align", &options->align,
                           "Where copies disagree: give all of them the state that most have, of equals the first, "
                           "then the values given"},
                          {"--force", &request.force, "Write values that the framework could not use"}},
                         change_options(options->change)}),
      .closing_words = edit_closing_words,
      .run = [options](const Terminal& t) { return edit(t, *options); },
  };
}
