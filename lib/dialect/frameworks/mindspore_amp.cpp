// mindspore.amp.DynamicLossScaler: two parameters. Its window and factor are not saved. Source: mindspore/amp.py.
#include <algorithm>
#include <array>
#include <vector>

#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/parameter_names.hpp"

namespace tare {
namespace {

constexpr auto mindspore_amp_names = std::to_array<FieldRule>({
    {"scale_value", Role::scale, true},
    {"counter", Role::growth_tracker, true},
});

constexpr auto mindspore_amp_settings = std::to_array<Setting>({
    {Role::growth_interval, "MindSpore takes its window from amp.DynamicLossScaler(scale_window=...)."},
    {Role::growth_factor, "MindSpore takes it from amp.DynamicLossScaler(scale_factor=...)."},
    {Role::backoff_factor, "MindSpore divides by scale_factor of amp.DynamicLossScaler."},
    {Role::initial_scale, "MindSpore takes it from amp.DynamicLossScaler(scale_value=...); a loaded one replaces it."},
    {Role::min_scale, "MindSpore's scale never falls below 1: the bound is fixed in its code."},
    {Role::max_scale, "MindSpore has no upper bound, but keeps a scale whose growth would be infinite."},
    {Role::hysteresis, "MindSpore has no hysteresis: every overflow backs off."},
    {Role::hysteresis_tracker, "MindSpore has no hysteresis: every overflow backs off."},
    {Role::overflow_tracker, "MindSpore counts no overflows: every one backs off."},
    {Role::dynamic, "MindSpore saves a counter for a dynamic scale alone."},
    {Role::step, "amp.DynamicLossScaler counts no steps, only clean ones since the last change (growth_tracker)."},
    {Role::last_overflow_step, "amp.DynamicLossScaler keeps no steps; an overflow sets growth_tracker to 0."},
});

/// Both words are common: MindSpore's are parameters.
Matches find_in_mindspore_amp(const Tree& tree, NodeId map, NodeId) {
  Matches matches = parameters_named(tree, map, mindspore_amp_names);
  std::erase_if(matches, [&](const Match& match) {
    return std::any_of(match.parts.begin(), match.parts.end(),
                       [&](const Match::Part& part) { return tree.kind(part.node) != Kind::tensor; });
  });
  return matches;
}

constexpr auto mindspore_amp_policies = std::to_array<PolicyUse>({
    {"", "mindspore_amp"},
});
constexpr auto mindspore_amp_each_flag = std::to_array<Flag>({
    {Role::growth_interval, "scale_window="},
    {Role::growth_factor, "scale_factor="},
});
constexpr Flags mindspore_amp_flags{"amp.DynamicLossScaler(..., ", ", ", ")", mindspore_amp_each_flag};
constexpr auto mindspore_amp_template_fields = std::to_array<TemplateField>({
    {"scale_value", "tensor:float32[]"},
    {"counter", "tensor:int32[]"},
});
constexpr auto mindspore_amp_templates = std::to_array<StateTemplate>({
    {.name = "mindspore_amp",
     .dialect = &mindspore_amp_scaler,
     .policy = "mindspore_amp",
     .endings = ".ckpt",
     .format = "mindspore",
     .fields = mindspore_amp_template_fields},
});

}  // namespace

constinit const Dialect mindspore_amp_scaler = {
    .name = "mindspore_amp",
    .framework = "MindSpore's amp.DynamicLossScaler",
    .form = Form::part,
    .find_in = find_in_mindspore_amp,
    .telling_word = "scale_value",
    .growth = Growth::when_equal,
    .settings = mindspore_amp_settings,
    .policies = mindspore_amp_policies,
    .flags = mindspore_amp_flags,
    .templates = mindspore_amp_templates,
};

}  // namespace tare
