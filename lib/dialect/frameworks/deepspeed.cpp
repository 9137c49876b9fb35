// DeepSpeed: the keys that its fp16 optimizer wrappers (without ZeRO) put among their own, and the loss scaler that
// ZeRO pickles whole into every rank's file. apex.contrib writes the same keys as the wrappers: what tells DeepSpeed's
// is the file's root, which holds its version or configuration.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "lib/base/limits.hpp"
#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/rank_name.hpp"
#include "lib/dialect/run_pointer.hpp"

namespace tare {
namespace {

constexpr auto deepspeed_part_fields = std::to_array<FieldRule>({
    {"cur_scale", Role::scale, true},
    {"dynamic_loss_scale", Role::dynamic, true},
    {"cur_iter", Role::step, true},
    {"last_overflow_iter", Role::last_overflow_step},
    {"scale_factor", Role::growth_factor},
    {"scale_window", Role::growth_interval},
});

// load_state_dict() of deepspeed/runtime/fp16/{fused,unfused}_optimizer.py.
constexpr auto deepspeed_when_dynamic =
    std::to_array<std::string_view>({"last_overflow_iter", "scale_factor", "scale_window"});

// Before 0.4.0 no version is saved, but what else its engine saves at the root. Source: deepspeed/runtime/engine.py,
// _save_checkpoint (0.3.16).
constexpr auto deepspeed_root_keys =
    std::to_array<std::string_view>({"ds_version", "ds_config", "csr_tensor_module_names", "dp_world_size"});
// FP16_UnfusedOptimizer keeps its float32 weights under this key; the fused one flattens them, in fp32_groups_flat.
constexpr auto optimizer_keys = std::to_array<std::string_view>({"fp32_groups"});

constexpr auto part_settings = std::to_array<Setting>({
    {Role::growth_tracker, "DeepSpeed counts from last_overflow_step: edit that, or step."},
    {Role::growth_interval, "A static scale has no window, and a resume keeps it so, whatever fp16.loss_scale says."},
    {Role::growth_factor, "A static scale has no factor, and a resume keeps it so, whatever fp16.loss_scale says."},
    {Role::last_overflow_step, "A static scale knows no overflows."},
    {Role::backoff_factor, "DeepSpeed divides by scale_factor, which is growth_factor here."},
    {Role::hysteresis, "DeepSpeed's fp16 optimizer without ZeRO has no hysteresis: every overflow backs off."},
    {Role::hysteresis_tracker, "DeepSpeed's fp16 optimizer without ZeRO has no hysteresis."},
    {Role::min_scale, "DeepSpeed takes it from fp16.min_loss_scale in its configuration."},
    {Role::max_scale, "DeepSpeed has no upper bound."},
    {Role::initial_scale, "DeepSpeed takes it from fp16.initial_scale_power in its configuration."},
});

constexpr auto deepspeed_object_fields = std::to_array<FieldRule>({
    {"cur_scale", Role::scale, true},
    {"dynamic", Role::dynamic},
    {"cur_iter", Role::step},
    {"last_overflow_iter", Role::last_overflow_step},
    {"scale_factor", Role::growth_factor},
    {"scale_window", Role::growth_interval},
    {"min_scale", Role::min_scale},
    {"delayed_shift", Role::hysteresis},
    {"cur_hysteresis", Role::hysteresis_tracker},
});

constexpr auto deepspeed_module_parts = std::to_array<std::string_view>({"deepspeed"});
constexpr auto deepspeed_class_names = std::to_array<std::string_view>({"DynamicLossScaler", "LossScaler"});

constexpr auto deepspeed_object_settings = std::to_array<Setting>({
    {Role::growth_tracker, "DeepSpeed counts from last_overflow_step: edit that, or step."},
    {Role::growth_interval, "A static scale has no window, and a resume keeps it so, whatever fp16.loss_scale says."},
    {Role::backoff_factor, "DeepSpeed divides by scale_factor, which is growth_factor here."},
    {Role::max_scale, "DeepSpeed has no upper bound."},
    {Role::initial_scale, "DeepSpeed takes it from fp16.initial_scale_power in its configuration."},
    {Role::overflow_tracker, "DeepSpeed counts down instead: edit hysteresis_tracker."},
    {Role::dynamic, "DeepSpeed goes by the class: DynamicLossScaler or LossScaler."},
});

constexpr auto deepspeed_policies = std::to_array<PolicyUse>({
    {"cur_hysteresis", "deepspeed", "zero"},
    {"fp32_groups", "deepspeed", "unfused"},
    {"dynamic_loss_scale", "deepspeed", "fused"},
    {"cur_iter", "deepspeed", "zero"},
    {"", "deepspeed", "static"},
});
// A window and a hysteresis come from the file, where the scale is one that has them: a resume never reads them here.
constexpr auto deepspeed_each_flag = std::to_array<Flag>({
    {Role::min_scale, "\"min_loss_scale\": "},
});
constexpr Flags deepspeed_flags{"\"fp16\": {", ", ", "}", deepspeed_each_flag};
// Sources: state_dict() of deepspeed/runtime/engine.py and zero/stage_1_and_2.py.
constexpr auto deepspeed_around = std::to_array<std::string_view>({"ds_config.fp16"});
constexpr auto deepspeed_configuration_keys = std::to_array<ConfigurationKey>({
    {"min_loss_scale", "min_scale"},
    {"loss_scale_window", "growth_interval"},
    {"hysteresis", "hysteresis"},
});
constexpr ConfigurationPlaces deepspeed_configuration{.around = deepspeed_around, .keys = deepspeed_configuration_keys};
constexpr auto deepspeed_part_places = std::to_array<KeptAt>({
    {"optimizer", "", "", "DeepSpeed without ZeRO", Authority::own_rank},
});
constexpr auto deepspeed_object_places = std::to_array<KeptAt>({
    {"optimizer_state_dict.loss_scaler", "bf16_*", "", "DeepSpeed ZeRO in bfloat16, which does not use it",
     Authority::own_rank},
    {"optimizer_state_dict.loss_scaler", "", "", "DeepSpeed ZeRO", Authority::own_rank},
    {"loss_scaler", "optimizer_state.pt", "", "DeepSpeed, universal checkpoint"},
});
constexpr auto zero_fields = std::to_array<TemplateField>({
    {"cur_scale", "number"},
    {"dynamic", "true"},
    {"cur_iter", "int"},
    {"last_overflow_iter", "int"},
    {"scale_factor", "number"},
    {"scale_window", "int"},
    {"min_scale", "number"},
    {"delayed_shift", "int"},
    {"cur_hysteresis", "int"},
    {"consecutive_hysteresis", "bool"},
    {"raise_error_at_min_scale", "bool"},
    {"dtype", "torch.float16"},
});
constexpr auto wrapper_fields = std::to_array<TemplateField>({
    {"dynamic_loss_scale", "bool"},
    {"cur_scale", "number"},
    {"cur_iter", "int"},
    {"last_overflow_iter", "int"},
    {"scale_factor", "number"},
    {"scale_window", "int"},
});
constexpr auto deepspeed_templates = std::to_array<StateTemplate>({
    {.name = "deepspeed zero",
     .dialect = &deepspeed_object,
     .policy = "deepspeed",
     .variant = "zero",
     .endings = ".pt .pth .ckpt .bin",
     .format = "torch_zip",
     .fields = zero_fields,
     .path = "optimizer_state_dict.loss_scaler",
     .module = "deepspeed.runtime.fp16.loss_scaler",
     .class_name = "DynamicLossScaler"},
    {.name = "deepspeed fused",
     .dialect = &deepspeed_part,
     .policy = "deepspeed",
     .variant = "fused",
     .endings = ".pt .pth .ckpt .bin",
     .format = "torch_zip",
     .fields = wrapper_fields,
     .path = "optimizer",
     .version_key = "ds_version"},
    {.name = "deepspeed unfused",
     .dialect = &deepspeed_part,
     .policy = "deepspeed",
     .variant = "unfused",
     .endings = ".pt .pth .ckpt .bin",
     .format = "torch_zip",
     .fields = wrapper_fields,
     .path = "optimizer",
     .version_key = "ds_version"},
});
constexpr auto deepspeed_classes = std::to_array<ClassName>({
    {"deepspeed.runtime.fp16.loss_scaler", "DynamicLossScaler"},
    {"deepspeed.runtime.fp16.loss_scaler", "LossScaler"},
    {"deepspeed.runtime.zero.config", "DeepSpeedZeroConfig"},
    {"deepspeed.runtime.zero.config", "ZeroStageEnum"},
    {"deepspeed.runtime.zero.offload_config", "DeepSpeedZeroOffloadOptimizerConfig"},
    {"deepspeed.runtime.zero.offload_config", "DeepSpeedZeroOffloadParamConfig"},
    {"deepspeed.runtime.zero.offload_config", "OffloadDeviceEnum"},
    {"deepspeed.utils.tensor_fragment", "fragment_address"},
    {"deepspeed.utils.tensor_fragment", "tensor_fragment"},
});

constexpr auto autocast = std::to_array<Condition>({
    {.keys = "ds_config.torch_autocast.enabled"},
    {.keys = "ds_config.torch_autocast.dtype", .says = "float16|fp16|half|torch.float16"},
});
constexpr auto deepspeed_resumes = std::to_array<Resume>({
    {.since = "0.17.2",
     .needs = autocast,
     .what =
         "trains under torch_autocast with a GradScaler of torch's that it does not save, and the loss scaler that it "
         "does save is not the one in use: a resumed run starts anew at 65536",
     .source = "deepspeed/runtime/zero/stage_1_and_2.py, torch_autocast_gradscaler; runtime/engine.py, "
               "torch_autocast_z0_gradscaler (0.19.6)",
     .was_run = true},
});

constexpr auto deepspeed_pointers = std::to_array<RunPointer>({
    {"latest", name_as_written},
    {"latest_universal", name_as_written, {}, "where checkpoint.load_universal is set"},
});
constexpr auto deepspeed_runs = std::to_array<RunFolder>({
    {RunFolder::Takes::pointed, "global_step#", {}, {}, FileType::folder},
});

// ---- its rank files. Sources: deepspeed/runtime/engine.py, _save_checkpoint and _save_zero_checkpoint;
// deepspeed/runtime/zero/stage_1_and_2.py and stage3.py, state_dict.

constexpr auto deepspeed_sizes = std::to_array<StoredSize>({
    {&RankSizes::data, "dp_world_size"},
    {&RankSizes::model, "mp_world_size"},
    {&RankSizes::zero_stage, "ds_config.zero_optimization.stage"},
    {&RankSizes::partitions, "optimizer_state_dict.partition_count"},
});
/// As they were called before the 18th of March 2021 (0.3.13).
constexpr std::string_view old_optimizer_files = "zero_pp_rank*_mp_rank*optim_states.pt";
constexpr auto deepspeed_rank_files = std::to_array<RankFiles>({
    {"zero_pp_rank*_mp_rank*_optim_states.pt", {&RankSizes::partitions, &RankSizes::model}},
    {"bf16_zero_pp_rank*_mp_rank*_optim_states.pt", {&RankSizes::partitions, &RankSizes::model}},
    {old_optimizer_files, {&RankSizes::partitions, &RankSizes::model}},
    {"zero_pp_rank*_mp_rank*_model_states.pt", {&RankSizes::partitions, &RankSizes::model}},
    {"mp_rank*_model_states.pt", {&RankSizes::model}},
});
constexpr std::string_view universal_state = "zero/optimizer_state.pt";

/// Which kinds of files a folder has.
struct Kinds {
  bool has_model = false, has_optimizer = false, is_universal = false;
  std::string first;
};

std::map<std::string, Kinds> kinds_in(std::span<const std::string> paths) {
  std::map<std::string, Kinds> folders;
  for (const std::string& path : paths) {
    if (path.ends_with(universal_state)) {
      folders[path.substr(0, path.size() - universal_state.size())].is_universal = true;
    }
    const auto group = rank_group(path);
    if (!group) continue;
    const std::string folder(folder_of_group(*group));
    const std::string_view name = std::string_view(*group).substr(folder.size());
    const bool is_model = name == "mp_rank*_model_states.pt" || name == "zero_pp_rank*_mp_rank*_model_states.pt";
    const bool is_optimizer = name == old_optimizer_files || name.ends_with("zero_pp_rank*_mp_rank*_optim_states.pt");
    if (!is_model && !is_optimizer) continue;
    Kinds& kinds = folders[folder];
    if (kinds.first.empty()) kinds.first = path;
    kinds.has_model = kinds.has_model || is_model;
    kinds.has_optimizer = kinds.has_optimizer || is_optimizer;
  }
  return folders;
}

AbsentFiles no_optimizer(const std::string& folder, const std::string& beside, std::uint64_t partitions) {
  AbsentFiles absent{beside,
                     fmt::format("{} file{} of the optimizer's ranks {} expected and 0 there: none of "
                                 "zero_pp_rank_0_mp_rank_00_optim_states.pt and its like",
                                 partitions, partitions == 1 ? "" : "s", partitions == 1 ? "is" : "are"),
                     {}};
  for (const std::string_view prefix : {"", "bf16_"}) {
    for (std::uint64_t rank = 0; rank < std::min<std::uint64_t>(partitions, limits::max_files); ++rank) {
      absent.names.push_back(fmt::format("{}{}zero_pp_rank_{}_mp_rank_00_optim_states.pt", folder, prefix, rank));
    }
  }
  return absent;
}

/// The model's and the optimizer's files come together; the optimizer has its own from ZeRO's first stage on.
std::vector<AbsentFiles> find_absent(std::span<const std::string> paths, const SizesByFolder& all_sizes) {
  std::vector<AbsentFiles> absent;
  for (const auto& [folder, kinds] : kinds_in(paths)) {
    const RankSizes known = sizes_of(all_sizes, folder);
    if (kinds.has_optimizer && !kinds.has_model) {
      absent.push_back({kinds.first,
                        "DeepSpeed's model states, mp_rank_00_model_states.pt and its like, are not there",
                        {folder + "mp_rank_00_model_states.pt"}});
    }
    if (kinds.has_model && !kinds.has_optimizer && !kinds.is_universal && known.zero_stage.value_or(0) > 0) {
      absent.push_back(no_optimizer(folder, kinds.first, known.data.value_or(1)));
    }
  }
  return absent;
}

}  // namespace

constinit const Dialect deepspeed_part = {
    .name = "deepspeed",
    .framework = "DeepSpeed's fp16 optimizer",
    .form = Form::part,
    .fields = deepspeed_part_fields,
    .growth = Growth::modulo_after_one,
    .settings = part_settings,
    .needed_when_dynamic = deepspeed_when_dynamic,
    .telling_keys = optimizer_keys,
    .beside_root_keys = deepspeed_root_keys,
    .policies = deepspeed_policies,
    .flags = deepspeed_flags,
    .configuration = &deepspeed_configuration,
    .places = deepspeed_part_places,
};

constinit const Dialect deepspeed_object = {
    .name = "deepspeed",
    .framework = "DeepSpeed's ZeRO loss scaler",
    .form = Form::object,
    .fields = deepspeed_object_fields,
    .growth = Growth::modulo_either,
    .plain_modulo_until = "DeepSpeed 0.17.0",
    .settings = deepspeed_object_settings,
    .module_parts = deepspeed_module_parts,
    .class_names = deepspeed_class_names,
    .class_tells_dynamic = true,  // update_scale() never looks at the attribute `dynamic`
    .policies = deepspeed_policies,
    .flags = deepspeed_flags,
    .configuration = &deepspeed_configuration,
    .places = deepspeed_object_places,
    .templates = deepspeed_templates,
    .classes = deepspeed_classes,
};

constinit const Trainer deepspeed_trainer = {
    .name = "DeepSpeed",
    .rank_files = deepspeed_rank_files,
    .sizes = deepspeed_sizes,
    .find_absent = find_absent,
    .pointers = deepspeed_pointers,
    .runs = deepspeed_runs,
    .dialect = "deepspeed",
    .version_at = "ds_version",
    .resumes = deepspeed_resumes,
};

}  // namespace tare
