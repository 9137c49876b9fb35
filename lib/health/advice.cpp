#include "lib/health/advice.hpp"

#include <algorithm>

#include "lib/base/text.hpp"
#include "lib/checkpoint/choose.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/health/rules.hpp"

namespace tare {
namespace {

constexpr std::string_view edit_command = "`tare edit CHECKPOINT ";
constexpr std::string_view choice = "{at}";
/// Options by which an edit says already which scalers it means.
constexpr auto choosing_options = std::to_array<std::string_view>({" --at ", " --all", " --align"});

constexpr std::string_view quantise_again =
    "Its framework makes no such scale anew: quantise the model again, or take another checkpoint";

/// The one that the finding is of; null: none, or one of many layers.
const Scaler* scaler_of(const Checkpoint& checkpoint, const Finding& finding, std::string_view kind) {
  const auto is_it = [&](const Scaler& scaler) {
    const FoundScaler& state = scaler.state();
    const std::string& file = checkpoint.files[scaler.copies.front().places.front()].path;
    const std::string path = kind == "fp8" ? layer_name(state) : state.path;
    return state.dialect->kind == kind && path == finding.path && file == finding.file;
  };
  const auto found = std::ranges::find_if(checkpoint.scalers, is_it);
  return found == checkpoint.scalers.end() ? nullptr : &*found;
}

/// Puts a blank behind each edit that would have to choose among scalers.
void let_choose(std::string& advice) {
  for (std::size_t at = advice.find(edit_command); at != advice.npos; at = advice.find(edit_command, at + 1)) {
    const std::size_t end = advice.find('`', at + 1);
    const std::string_view command = std::string_view(advice).substr(at, end - at);
    const auto is_in = [&](std::string_view option) { return command.find(option) != command.npos; };
    if (std::ranges::none_of(choosing_options, is_in)) advice.insert(end, choice);
  }
}

}  // namespace

std::string advice_about(const Checkpoint& checkpoint, const Finding& finding) {
  const Rule* rule = find_rule(finding.code);
  if (rule == nullptr) return {};
  std::string advice(rule->advice), at;
  if (const Scaler* scaler = scaler_of(checkpoint, finding, "loss_scale")) {
    if (const auto place = place_to_choose(checkpoint, *scaler)) {
      let_choose(advice);
      at = " --at " + shell_word(*place);
    }
  } else if (const Scaler* layer = scaler_of(checkpoint, finding, "fp8");
             layer != nullptr && !rule->fp8_advice.empty()) {
    advice = layer->state().dialect->fp8.next_scale == nullptr ? quantise_again : rule->fp8_advice;
  }
  return filled(advice, {{"CHECKPOINT", shell_path(checkpoint.resolved)}, {choice, at}});
}

std::string filled(std::string_view advice, std::initializer_list<Blank> blanks) {
  std::string text;
  for (std::size_t at = 0; at < advice.size();) {
    const auto starts = [&](const Blank& blank) { return advice.substr(at).starts_with(blank.word); };
    const auto blank = std::find_if(blanks.begin(), blanks.end(), starts);
    text += blank == blanks.end() ? std::string(1, advice[at]) : blank->with;
    at += blank == blanks.end() ? 1 : blank->word.size();
  }
  return text;
}

}  // namespace tare
