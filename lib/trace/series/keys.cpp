#include "lib/trace/series/keys.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace tare {

namespace {

struct Name {
  std::string_view name;
  KeyRole role;
  int rank;
  bool may_have_prefix;                            ///< "train_loss_scale"; not "lr_scale", which is none
  bool is_doubtful = false, is_logarithm = false;  ///< as in Key
};

/// In lower case, with one underline for what separates words.
constexpr Name names[] = {
    {"loss_scale", KeyRole::scale, 0, true},
    {"loss_scaling", KeyRole::scale, 1, true},
    {"loss_scaler", KeyRole::scale, 2, true},
    {"lossscale", KeyRole::scale, 2, true},
    {"grad_scale", KeyRole::scale, 3, true},
    {"grad_scaler", KeyRole::scale, 3, true},
    {"gradscaler", KeyRole::scale, 3, true},
    {"gradient_scale", KeyRole::scale, 3, true},
    {"amp_scale", KeyRole::scale, 4, true},
    {"amp_scaler", KeyRole::scale, 4, false},
    {"scaler_scale", KeyRole::scale, 4, true},
    {"fp16_scale", KeyRole::scale, 4, true},
    {"cur_scale", KeyRole::scale, 5, true},
    {"dynamic_scale", KeyRole::scale, 5, true},
    {"scaler", KeyRole::scale, 6, false},
    {"scale", KeyRole::scale, 7, false, true},
    {"train_scale", KeyRole::scale, 8, false, true},  // Flax's ImageNet example
    {"lg_loss_scale", KeyRole::scale, 9, false, false, true},
    {"log2_loss_scale", KeyRole::scale, 9, false, false, true},
    {"step", KeyRole::step, 0, false},
    {"_step", KeyRole::step, 1, false},
    {"global_step", KeyRole::step, 2, true},
    {"iteration", KeyRole::step, 3, false},
    {"iter", KeyRole::step, 4, false},
    {"num_updates", KeyRole::step, 5, true},
    {"steps", KeyRole::step, 6, false},
    {"current_steps", KeyRole::step, 6, false},
    {"batch", KeyRole::batch, 0, false},
    {"batch_idx", KeyRole::batch, 0, false},
    {"batch_index", KeyRole::batch, 0, false},
    {"it", KeyRole::batch, 1, false},
    {"i", KeyRole::batch, 2, false},
    {"epoch", KeyRole::epoch, 0, false},
    {"skipped", KeyRole::overflow, 0, false},
    {"overflow", KeyRole::overflow, 0, true},
    {"found_inf", KeyRole::overflow, 0, true},
    {"is_overflow", KeyRole::overflow, 0, false},
    {"step_skipped", KeyRole::overflow, 0, false},
    {"loss", KeyRole::loss, 0, false},
    {"train_loss", KeyRole::loss, 1, true},
    {"total_loss", KeyRole::loss, 1, true},
    {"lm_loss", KeyRole::loss, 1, true},
    {"step_loss", KeyRole::loss, 1, true},
    {"train_loss_step", KeyRole::loss, 1, false},
    {"loss_step", KeyRole::loss, 2, false},
    {"loss", KeyRole::loss, 2, true},
    {"grad_norm", KeyRole::grad_norm, 0, true},
    {"gnorm", KeyRole::grad_norm, 1, true},
    {"gradient_norm", KeyRole::grad_norm, 1, true},
};

std::string plain(std::string_view name) {
  std::string text(name);
  for (char& c : text) {
    c = c == '-' || c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

/// "lg_loss_scale" is no scale.
bool is_logarithm(std::string_view prefix) {
  prefix = prefix.substr(prefix.rfind('_') + 1);
  return prefix == "lg" || prefix == "log" || prefix == "log2" || prefix == "ln";
}

bool is_named(std::string_view word, const Name& known) {
  if (word == known.name) return true;
  if (!known.may_have_prefix || !word.ends_with(known.name)) return false;
  const std::string_view prefix = word.substr(0, word.size() - known.name.size());
  return prefix.back() == '_' && !is_logarithm(prefix.substr(0, prefix.size() - 1));
}

/// "eval/loss", "val_loss": no loss of a step.
bool is_of_evaluation(std::string_view name) {
  constexpr std::string_view words[] = {"eval", "evaluation", "val", "valid", "validation", "test"};
  const std::string text = plain(name);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("_/.:", at), text.size());
    if (std::ranges::find(words, std::string_view(text).substr(at, end - at)) != std::end(words)) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

std::string_view without_axis(std::string_view name) {
  for (const std::string_view axis : {" vs samples", " vs tokens", " vs steps", " vs. samples"}) {
    if (name.ends_with(axis)) return name.substr(0, name.size() - axis.size());
  }
  return name;
}

Key key_of(std::string_view name) {
  constexpr std::string_view detectron = "[metric]";
  constexpr int of_another_axis = 100;
  Key key;
  const std::string_view bare = without_axis(name);
  if (bare.size() != name.size()) key.rank += of_another_axis;
  constexpr std::string_view of_total = "/max_steps";  // ms-swift: "global_step/max_steps": "5/93"
  std::string_view word = bare;
  if (word.ends_with(of_total)) word.remove_suffix(of_total.size());
  if (word.starts_with(detectron)) {
    word.remove_prefix(detectron.size());
    key.is_before = true;
  }
  const std::size_t separator = word.find_last_of("/.:");
  const std::string last = plain(separator == word.npos ? word : word.substr(separator + 1));
  for (const Name& known : names) {
    if (!is_named(last, known)) continue;
    if (known.role == KeyRole::loss && is_of_evaluation(bare)) return {};
    key.role = known.role;
    key.is_doubtful = known.is_doubtful;
    key.is_logarithm = known.is_logarithm;
    key.rank += known.rank;
    return key;
  }
  return {};
}

}  // namespace tare
