// MindSpore: `scale_sense` of TrainOneStepWithLossScaleCell, with the two counters of DynamicLossScaleUpdateCell where
// the scale is dynamic. Sources: mindspore/nn/wrap/loss_scale.py.
#include <array>
#include <vector>

#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/parameter_names.hpp"

namespace tare {
namespace {

// Where the names of a cell's parameters are not unique, MindSpore renames them by their places in the tree of cells.
constexpr auto mindspore_names = std::to_array<FieldRule>({
    {"scale_sense", Role::scale, true},
    {"current_iterator_step", Role::step},
    {"last_overflow_iterator_step", Role::last_overflow_step},
    {"loss_scaling_manager.cur_iter", Role::step},
    {"loss_scaling_manager.last_overflow_iter", Role::last_overflow_step},
    {"loss_scale", Role::scale},
    // Of mindformers' adaptive cell, which is another dialect.
    {"list_index", Role::window_index},
    {"loss_scaling_manager.list_index", Role::window_index},
});

constexpr auto mindspore_settings = std::to_array<Setting>({
    {Role::growth_interval, "MindSpore takes its window from DynamicLossScaleUpdateCell(scale_window=...)."},
    {Role::growth_tracker, "MindSpore counts from last_overflow_step: edit that, or step."},
    {Role::growth_factor, "MindSpore takes it from DynamicLossScaleUpdateCell(scale_factor=...)."},
    {Role::backoff_factor, "MindSpore divides by scale_factor of DynamicLossScaleUpdateCell."},
    {Role::initial_scale, "MindSpore takes it from loss_scale_value; a loaded checkpoint's scale_sense replaces it."},
    {Role::min_scale, "MindSpore's scale never falls below 1: the bound is fixed in its code."},
    {Role::max_scale, "MindSpore has no upper bound."},
    {Role::hysteresis, "MindSpore has no hysteresis: every overflow backs off."},
    {Role::hysteresis_tracker, "MindSpore has no hysteresis: every overflow backs off."},
    {Role::overflow_tracker, "MindSpore counts no overflows: every one backs off."},
    {Role::dynamic, "MindSpore's scale is dynamic with a DynamicLossScaleUpdateCell, and fixed with any other."},
});

/// Only mindformers keeps its own values of `loss_scale` and `global_batch_size` beside the parameters; alone, the
/// first is a note that a user's script made.
Matches find_in_mindspore(const Tree& tree, NodeId map, NodeId) {
  Matches matches = parameters_named(tree, map, mindspore_names);
  std::erase_if(matches, [](const Match& match) { return has_role(match, Role::window_index); });
  if (matches.empty() || tree.find(map, "global_batch_size") != nowhere) return matches;
  std::erase_if(matches.front().parts, [](const Match::Part& part) { return part.name == "loss_scale"; });
  return matches;
}

constexpr auto mindspore_policies = std::to_array<PolicyUse>({
    {"current_iterator_step", "mindspore", "dynamic"},
    {"loss_scaling_manager.cur_iter", "mindspore", "dynamic"},
    {"", "mindspore", "fixed"},
});
constexpr auto mindspore_each_flag = std::to_array<Flag>({
    {Role::growth_interval, "scale_window="},
    {Role::growth_factor, "scale_factor="},
});
constexpr Flags mindspore_flags{"DynamicLossScaleUpdateCell(..., ", ", ", ")", mindspore_each_flag};
constexpr auto mindspore_places = std::to_array<KeptAt>({
    {"", "", "global_batch_size", "mindformers (CheckpointMonitor)"},
});
constexpr auto mindspore_template_fields = std::to_array<TemplateField>({
    {"scale_sense", "tensor:float32[]"},
    {"current_iterator_step", "tensor:int32[]"},
    {"last_overflow_iterator_step", "tensor:int32[]"},
});
constexpr auto mindspore_templates = std::to_array<StateTemplate>({
    {.name = "mindspore",
     .dialect = &mindspore_cell,
     .policy = "mindspore",
     .variant = "dynamic",
     .endings = ".ckpt",
     .format = "mindspore",
     .fields = mindspore_template_fields,
     .is_usual = true},
});

/// Parallel training saves each rank's file in a folder of its own.
constexpr auto mindspore_rank_words = std::to_array<RankWord>({
    {"rank", true, 1, {}, "ckpt_"},
});

}  // namespace

constinit const Dialect mindspore_cell = {
    .name = "mindspore",
    .framework = "MindSpore's loss-scaling cell",
    .form = Form::part,
    .find_in = find_in_mindspore,
    .telling_word = "scale",
    .growth = Growth::when_reached,
    .settings = mindspore_settings,
    .policies = mindspore_policies,
    .flags = mindspore_flags,
    .places = mindspore_places,
    .templates = mindspore_templates,
};

constinit const Trainer mindspore_trainer = {
    .name = "MindSpore",
    .rank_words = mindspore_rank_words,
};

}  // namespace tare
