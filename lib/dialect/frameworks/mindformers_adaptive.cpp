// mindformers' AdaptiveLossScaleUpdateCell: MindSpore's rule with a window that moves along a list, which is not saved.
// Source: mindformers/wrapper/adaptive_loss_scale.py.
#include <array>
#include <vector>

#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/parameter_names.hpp"

namespace tare {
namespace {

// Where the names of a cell's parameters are not unique, MindSpore renames them by their places in the tree of cells:
// so a constant learning rate does. CheckpointMonitor puts `loss_scale` beside, and resuming starts from that.
constexpr auto mindformers_adaptive_names = std::to_array<FieldRule>({
    {"loss_scale", Role::scale},
    {"scale_sense", Role::scale, true},
    {"scale_window", Role::growth_interval},
    {"list_index", Role::window_index},
    {"scale_window_up_count", Role::window_up_count},
    {"scale_window_down_count", Role::window_down_count},
    {"current_iterator_step", Role::step},
    {"last_overflow_iterator_step", Role::last_overflow_step},
    {"loss_scaling_manager.scale_window", Role::growth_interval},
    {"loss_scaling_manager.list_index", Role::window_index},
    {"loss_scaling_manager.window_up_count", Role::window_up_count},
    {"loss_scaling_manager.window_down_count", Role::window_down_count},
    {"loss_scaling_manager.cur_iter", Role::step},
    {"loss_scaling_manager.last_overflow_iter", Role::last_overflow_step},
});

constexpr auto mindformers_adaptive_settings = std::to_array<Setting>({
    {Role::window_list, "mindformers makes it from max_scale_window and min_scale_window of its update cell."},
    {Role::growth_tracker, "mindformers counts from last_overflow_step: edit that, or step."},
    {Role::growth_factor, "mindformers takes it from AdaptiveLossScaleUpdateCell(scale_factor=...)."},
    {Role::backoff_factor, "mindformers divides by scale_factor of AdaptiveLossScaleUpdateCell."},
    {Role::initial_scale, "mindformers takes it from loss_scale_value; a loaded checkpoint's scale replaces it."},
    {Role::min_scale, "mindformers' scale never falls below 1: the bound is fixed in its code."},
    {Role::max_scale, "mindformers has no upper bound."},
    {Role::hysteresis, "mindformers has no hysteresis: every overflow backs off."},
    {Role::hysteresis_tracker, "mindformers has no hysteresis: every overflow backs off."},
    {Role::overflow_tracker, "mindformers counts overflows towards a smaller window: edit window_down_count."},
    {Role::dynamic, "mindformers' adaptive scale is always dynamic."},
});

Matches find_in_mindformers_adaptive(const Tree& tree, NodeId map, NodeId) {
  Matches matches = parameters_named(tree, map, mindformers_adaptive_names);
  std::erase_if(matches, [](const Match& match) { return !has_role(match, Role::window_index); });
  return matches;
}

constexpr auto mindformers_adaptive_policies = std::to_array<PolicyUse>({
    {"", "mindformers_adaptive"},
});
constexpr auto mindformers_adaptive_each_flag = std::to_array<Flag>({
    {Role::growth_factor, "scale_factor="},
    {{}, "max_scale_window=", "max_scale_window"},
    {{}, "min_scale_window=", "min_scale_window"},
});
constexpr Flags mindformers_adaptive_flags{"AdaptiveLossScaleUpdateCell(..., ", ", ", ")",
                                           mindformers_adaptive_each_flag};
constexpr auto mindformers_adaptive_places = std::to_array<KeptAt>({
    {"", "", "global_batch_size", "mindformers (CheckpointMonitor)"},
});
constexpr auto mindformers_adaptive_template_fields = std::to_array<TemplateField>({
    {"scale_sense", "tensor:float32[]"},
    {"scale_window", "tensor:int32[]", "fields.scale_window"},
    {"list_index", "tensor:int32[]"},
    {"scale_window_up_count", "tensor:int32[]"},
    {"scale_window_down_count", "tensor:int32[]"},
    {"current_iterator_step", "tensor:int32[]"},
    {"last_overflow_iterator_step", "tensor:int32[]"},
});
constexpr auto mindformers_adaptive_templates = std::to_array<StateTemplate>({
    {.name = "mindformers_adaptive",
     .dialect = &mindformers_adaptive_cell,
     .policy = "mindformers_adaptive",
     .endings = ".ckpt",
     .format = "mindspore",
     .fields = mindformers_adaptive_template_fields},
});

}  // namespace

constinit const Dialect mindformers_adaptive_cell = {
    .name = "mindformers_adaptive",
    .framework = "mindformers' AdaptiveLossScaleUpdateCell",
    .form = Form::part,
    .find_in = find_in_mindformers_adaptive,
    .telling_word = "scale",
    .growth = Growth::when_reached,
    .settings = mindformers_adaptive_settings,
    .policies = mindformers_adaptive_policies,
    .flags = mindformers_adaptive_flags,
    .places = mindformers_adaptive_places,
    .templates = mindformers_adaptive_templates,
};

}  // namespace tare
