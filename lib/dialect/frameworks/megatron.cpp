// Megatron-LM: DynamicGradScaler's dict of three (a float32 CUDA tensor and two counters; the constant scaler saves
// {}), and the pickled loss scaler of releases before 2.0.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto state_fields = std::to_array<FieldRule>({
    {"hysteresis_tracker", Role::hysteresis_tracker, true},
    {"scale", Role::scale, true},
    {"growth_tracker", Role::growth_tracker, true},
});

constexpr auto settings = std::to_array<Setting>({
    {Role::growth_interval, "Megatron takes its window from --loss-scale-window."},
    {Role::hysteresis, "Megatron takes it from --hysteresis."},
    {Role::min_scale, "Megatron takes it from --min-loss-scale."},
    {Role::max_scale, "Megatron has no upper bound."},
    {Role::initial_scale, "Megatron takes it from --initial-loss-scale; a loaded checkpoint's scale replaces it."},
    {Role::growth_factor, "Megatron always grows by 2: the factor is fixed in its code."},
    {Role::backoff_factor, "Megatron always backs off by 0.5: the factor is fixed in its code."},
    {Role::dynamic, "Megatron's scale is dynamic unless --loss-scale fixes it; a fixed one is not saved."},
    {Role::overflow_tracker, "Megatron counts down instead: edit hysteresis_tracker."},
});

constexpr auto object_fields = std::to_array<FieldRule>({
    {"cur_scale", Role::scale, true},
    {"cur_iter", Role::step},
    {"last_overflow_iter", Role::last_overflow_step},
    {"scale_factor", Role::growth_factor},
    {"scale_window", Role::growth_interval},
    {"min_scale", Role::min_scale},
    {"delayed_shift", Role::hysteresis},
    {"cur_hysteresis", Role::hysteresis_tracker},
});

constexpr auto module_parts = std::to_array<std::string_view>({"megatron", "fp16"});
constexpr auto class_names = std::to_array<std::string_view>({"DynamicLossScaler", "LossScaler"});

constexpr auto object_settings = std::to_array<Setting>({
    {Role::growth_tracker, "This Megatron counts from last_overflow_step: edit that, or step."},
    {Role::backoff_factor, "This Megatron divides by scale_factor, which is growth_factor here."},
    {Role::max_scale, "Megatron has no upper bound."},
    {Role::initial_scale, "Megatron takes it from --initial-loss-scale; a loaded checkpoint's scale replaces it."},
    {Role::dynamic, "Megatron's scale is dynamic unless --loss-scale fixes it."},
    {Role::overflow_tracker, "Megatron counts down instead: edit hysteresis_tracker."},
});

constexpr auto policies = std::to_array<PolicyUse>({
    {"", "megatron"},
});
constexpr auto each_flag = std::to_array<Flag>({
    {Role::growth_interval, "--loss-scale-window "},
    {Role::hysteresis, "--hysteresis "},
    {Role::min_scale, "--min-loss-scale "},
});
constexpr Flags flags{"", " ", "", each_flag};
// Source: generate_state_dict of megatron/training/checkpointing.py.
constexpr auto around = std::to_array<std::string_view>({"args", "common_state/shard_0_1.args"});
constexpr auto configuration_keys = std::to_array<ConfigurationKey>({
    {"initial_loss_scale", "initial_scale"},
    {"min_loss_scale", "min_scale"},
    {"loss_scale_window", "growth_interval"},
    {"hysteresis", "hysteresis"},
});
constexpr ConfigurationPlaces configuration{.around = around, .keys = configuration_keys};
constexpr auto places = std::to_array<KeptAt>({
    {"common_state/*", "", "", "Megatron-core, distributed format, common state"},
    {"optimizer.distributed.dp_group_idx_*", "", "", "Megatron-core, distributed format, one data-parallel group",
     Authority::rank_group},
    {"chained_*", "", "", "Megatron-core, distributed format, one data-parallel group of one optimizer",
     Authority::rank_group},
    {"", "shard_*", "", "Megatron-core, distributed format (zarr), one data-parallel group", Authority::rank_group},
    {"*", "model_optim_rng.pt", "", "Megatron-LM, torch format", Authority::own_rank},
    {"*", "common.pt", "", "Megatron-core, distributed format, common state"},
});
constexpr auto object_places = std::to_array<KeptAt>({
    {"*", "", "", "Megatron-LM before 2.0"},
});
// Source: state_dict() of a scaler that is off, megatron/core/optimizer/grad_scaler.py.
constexpr auto empty_at = std::to_array<EmptyAt>({
    {"optimizer.grad_scaler", "model_optim_rng.pt"},
    {"optimizer.grad_scaler", "common.pt"},
});
constexpr auto template_fields = std::to_array<TemplateField>({
    {"scale", "tensor:float32[1]"},
    {"growth_tracker", "int"},
    {"hysteresis_tracker", "int"},
});
constexpr auto templates = std::to_array<StateTemplate>({
    {.name = "megatron",
     .dialect = &megatron_state,
     .policy = "megatron",
     .endings = ".pt .pth .ckpt .bin",
     .format = "torch_zip",
     .fields = template_fields,
     .path = "optimizer.grad_scaler"},
});
constexpr auto classes = std::to_array<ClassName>({
    {"megatron.core.dist_checkpointing.mapping", "LocalNonpersistentObject"},
    {"megatron.core.dist_checkpointing.mapping", "ShardedObject"},
    {"megatron.core.dist_checkpointing.mapping", "ShardedTensor"},
    {"megatron.core.enums", "ModelType"},
    {"megatron.core.num_microbatches_calculator", "ConstantNumMicroBatchesCalculator"},
    {"megatron.core.num_microbatches_calculator", "RampupBatchsizeNumMicroBatchesCalculator"},
    {"megatron.core.rerun_state_machine", "RerunDiagnostic"},
    {"megatron.core.rerun_state_machine", "RerunMode"},
    {"megatron.core.rerun_state_machine", "RerunState"},
    {"megatron.core.safe_globals", "safe_load_from_bytes"},
    {"megatron.core.transformer.enums", "AttnBackend"},
    {"megatron.core.transformer.enums", "AttnMaskType"},
    {"megatron.core.transformer.enums", "AttnType"},
    {"megatron.core.transformer.enums", "LayerType"},
    {"megatron.core.transformer.enums", "ModelType"},
    {"megatron.core.transformer.pipeline_parallel_layer_layout", "PipelineParallelLayerLayout"},
});

}  // namespace

constinit const Dialect megatron_state = {
    .name = "megatron",
    .framework = "Megatron's DynamicGradScaler",
    .form = Form::map,
    .fields = state_fields,
    .growth = Growth::when_equal,
    .settings = settings,
    .policies = policies,
    .flags = flags,
    .configuration = &configuration,
    .places = places,
    .empty_at = empty_at,
    .templates = templates,
    .classes = classes,
};

constinit const Dialect megatron_object = {
    .name = "megatron",
    .framework = "Megatron's loss scaler (before 2.0)",
    .form = Form::object,
    .fields = object_fields,
    .growth = Growth::modulo,
    .settings = object_settings,
    .module_parts = module_parts,
    .class_names = class_names,
    .policies = policies,
    .flags = flags,
    .configuration = &configuration,
    .places = object_places,
};

}  // namespace tare
