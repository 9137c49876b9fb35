#include "lib/dialect/flags.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "lib/base/text.hpp"

namespace tare {
namespace {

/// Where a framework is told its values: what stands around them all, and between two.
struct Configuration {
  std::string_view dialect;
  std::string_view before, between, after;
};

constexpr std::string_view next_argument = ", ";
constexpr auto configurations = std::to_array<Configuration>({
    {"megatron", "", " ", ""},
    {"fairseq", "", " ", ""},
    {"nemo", "", " ", ""},
    {"deepspeed", "\"fp16\": {", next_argument, "}"},
    {"apex", "amp.initialize(..., ", next_argument, ")"},
    {"colossalai", "", next_argument, ""},
    {"mindspore", "DynamicLossScaleUpdateCell(..., ", next_argument, ")"},
    {"mindspore_amp", "amp.DynamicLossScaler(..., ", next_argument, ")"},
    {"mindformers_adaptive", "AdaptiveLossScaleUpdateCell(..., ", next_argument, ")"},
    {"paddle_static", "static.amp.decorate(..., ", next_argument, ")"},
    {"keras", "LossScaleOptimizer(..., ", next_argument, ")"},
    {"tf_keras", "LossScaleOptimizer(..., ", next_argument, ")"},
    {"tf_contrib", "ExponentialUpdateLossScaleManager(..., ", next_argument, ")"},
    {"flax", "DynamicScale(", next_argument, ")"},
    {"jmp", "DynamicLossScale(..., ", next_argument, ")"},
});

struct Flag {
  std::string_view dialect;
  std::optional<Role> role;
  std::string_view text;       ///< before the value
  std::string_view name = {};  ///< the rule's, of what has no role
};

// As each framework's own command line, configuration or constructor spells it; the settings of its dialect name the
// same in sentences.
constexpr auto flags = std::to_array<Flag>({
    {"megatron", Role::growth_interval, "--loss-scale-window "},
    {"megatron", Role::hysteresis, "--hysteresis "},
    {"megatron", Role::min_scale, "--min-loss-scale "},
    {"fairseq", Role::growth_interval, "--fp16-scale-window "},
    {"fairseq", Role::min_scale, "--min-loss-scale "},
    {"fairseq", {}, "--fp16-scale-tolerance ", "tolerance"},
    {"fairseq", {}, "--threshold-loss-scale ", "threshold"},
    {"nemo", Role::hysteresis, "model.hysteresis="},
    {"deepspeed", Role::growth_interval, "\"loss_scale_window\": "},
    {"deepspeed", Role::hysteresis, "\"hysteresis\": "},
    {"deepspeed", Role::min_scale, "\"min_loss_scale\": "},
    {"apex", Role::min_scale, "min_loss_scale="},
    {"apex", Role::max_scale, "max_loss_scale="},
    {"apex", {}, "loss_scale=", "loss_scale"},
    {"colossalai", Role::growth_interval, "growth_interval="},
    {"colossalai", Role::min_scale, "min_scale="},
    {"colossalai", Role::max_scale, "max_scale="},
    {"mindspore", Role::growth_interval, "scale_window="},
    {"mindspore", Role::growth_factor, "scale_factor="},
    {"mindspore_amp", Role::growth_interval, "scale_window="},
    {"mindspore_amp", Role::growth_factor, "scale_factor="},
    {"mindformers_adaptive", Role::growth_factor, "scale_factor="},
    {"mindformers_adaptive", {}, "max_scale_window=", "max_scale_window"},
    {"mindformers_adaptive", {}, "min_scale_window=", "min_scale_window"},
    {"paddle_static", Role::growth_interval, "incr_every_n_steps="},
    {"paddle_static", Role::growth_factor, "incr_ratio="},
    {"paddle_static", Role::backoff_factor, "decr_ratio="},
    {"paddle_static", Role::hysteresis, "decr_every_n_nan_or_inf="},
    {"keras", Role::growth_interval, "dynamic_growth_steps="},
    {"tf_keras", Role::growth_interval, "dynamic_growth_steps="},
    {"tf_contrib", Role::growth_interval, "incr_every_n_steps="},
    {"tf_contrib", Role::hysteresis, "decr_every_n_nan_or_inf="},
    {"tf_contrib", Role::growth_factor, "incr_ratio="},
    {"tf_contrib", Role::backoff_factor, "decr_ratio="},
    {"flax", Role::growth_interval, "growth_interval="},
    {"flax", Role::growth_factor, "growth_factor="},
    {"flax", Role::backoff_factor, "backoff_factor="},
    {"flax", Role::min_scale, "minimum_scale="},
    {"jmp", Role::growth_interval, "period="},
    {"jmp", Role::growth_factor, "factor="},
    {"jmp", Role::min_scale, "min_loss_scale="},
});

std::optional<std::string> text_of(const StateValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return float_text(*real);
  return std::nullopt;
}

const Flag* flag_of(const Dialect& dialect, const ToldValue& value) {
  const auto flag = std::find_if(flags.begin(), flags.end(), [&](const Flag& row) {
    const bool is_it = row.role ? row.role == value.role : row.name == value.name;
    return row.dialect == dialect.name && is_it;
  });
  return flag == flags.end() ? nullptr : &*flag;
}

}  // namespace

bool is_told(const Dialect& dialect, const ToldValue& value) {
  return flag_of(dialect, value) != nullptr;
}

std::string flags_for(const Dialect& dialect, std::span<const ToldValue> values) {
  const auto configuration = std::find_if(configurations.begin(), configurations.end(),
                                          [&](const Configuration& c) { return c.dialect == dialect.name; });
  std::string all;
  for (const ToldValue& value : values) {
    const Flag* flag = flag_of(dialect, value);
    const auto text = text_of(value.value);
    if (flag == nullptr || !text) continue;
    if (!all.empty()) all += configuration->between;
    all.append(flag->text).append(*text);
  }
  if (all.empty()) return all;
  return std::string(configuration->before).append(all).append(configuration->after);
}

}  // namespace tare
