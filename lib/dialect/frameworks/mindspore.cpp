// MindSpore: `scale_sense` of TrainOneStepWithLossScaleCell, with the two counters of DynamicLossScaleUpdateCell where
// the scale is dynamic. Sources: mindspore/nn/wrap/loss_scale.py.
//
// A `loss_scale` may stand beside it. mindformers (CheckpointMonitor) and mindone (train_resume.ckpt;
// resume_train_network of mindone/trainers/checkpoint.py) note the scale so, behind all parameters, and begin with that
// when they resume. The cells of MindSpore's models (BertTrainOneStepWithLossScaleCell and many like it) have a
// parameter of that name: they scale by it and never look at the `scale_sense` that they may inherit.
#include <algorithm>
#include <array>
#include <vector>

#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/parameter_names.hpp"

namespace tare {
namespace {

constexpr std::string_view scale_sense = "scale_sense", loss_scale = "loss_scale";

// Where the names of a cell's parameters are not unique, MindSpore renames them by their places in the tree of cells.
constexpr auto mindspore_names = std::to_array<FieldRule>({
    {loss_scale, Role::scale},  // the first counts where the two differ
    {scale_sense, Role::scale},
    {"current_iterator_step", Role::step},
    {"last_overflow_iterator_step", Role::last_overflow_step},
    {"loss_scaling_manager.cur_iter", Role::step},
    {"loss_scaling_manager.last_overflow_iter", Role::last_overflow_step},
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

bool is_number(const Tree& tree, NodeId map, std::string_view name) {
  const NodeId node = tree.find(map, name);
  return node != nowhere && tree.value(node, 1).number() != nullptr;
}

/// Whether a `loss_scale` that stands behind the parameters is what a resume begins with: mindformers' has the batch
/// size with it, mindone's the epoch without MindSpore's own step. Another one is a note that a user's script made.
bool is_resumed_from(const Tree& tree, NodeId map) {
  const auto is_there = [&](std::string_view key) { return tree.find(map, key) != nowhere; };
  return is_there("global_batch_size") || (is_there("epoch_num") && !is_there("step_num"));
}

/// Whether `loss_scale` is a parameter: those of a cell stand before those of the cells in it, which count the steps,
/// and notes behind all of them.
bool is_parameter(const Tree& tree, NodeId map, std::string_view name) {
  const auto place = [&](std::string_view key) { return std::ranges::find(tree.items(map), tree.find(map, key)); };
  const auto none = tree.items(map).end();
  return place("current_iterator_step") != none && place("last_overflow_iterator_step") != none &&
         place(name) < place("current_iterator_step");
}

Matches find_in_mindspore(const Tree& tree, NodeId map, NodeId) {
  Matches matches = parameters_named(tree, map, mindspore_names);
  Match& match = matches.front();  // no name is required
  if (has_role(match, Role::window_index)) return {};
  const bool is_of_models = is_parameter(tree, map, loss_scale) && is_number(tree, map, loss_scale);
  if (!is_of_models && !is_number(tree, map, scale_sense)) return {};
  const bool is_kept = is_of_models || (is_resumed_from(tree, map) && is_number(tree, map, loss_scale));
  std::erase_if(match.parts, [&](const Match::Part& part) {
    return part.name == scale_sense ? is_of_models : part.name == loss_scale && !is_kept;
  });
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

/// The cells of MindSpore's models.
bool scales_by_loss_scale(const Tree& tree, const FoundScalers& scalers) {
  return tree.find(tree.fields(tree.root), scale_sense) != nowhere &&
         std::ranges::any_of(scalers, [](const FoundScaler& one) {
           return one.dialect == &mindspore_cell && one.find(loss_scale) != nullptr && one.find(scale_sense) == nullptr;
         });
}

constexpr auto mindspore_resumes = std::to_array<Resume>({
    {.is_about = scales_by_loss_scale,
     .what =
         "scales by loss_scale where a model's own cell has a parameter of that name: nothing reads the scale_sense "
         "that is stored too, and an edit leaves it alone",
     .source = "mindspore/models: official/nlp/Bert/src/bert_for_pre_training.py, BertTrainOneStepWithLossScaleCell",
     .why_read = "the models are in no release"},
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
    .resumes = mindspore_resumes,
};

}  // namespace tare
