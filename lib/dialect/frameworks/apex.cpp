// NVIDIA apex: amp.state_dict()'s entry for one loss, the amp scaler pickled whole, the keys that contrib's
// FP16_Optimizer puts among its own, and the pickled scaler of fp16_utils (2018).
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto amp_fields = std::to_array<FieldRule>({
    {"unskipped", Role::growth_tracker, true},
    {"loss_scale", Role::scale, true},
});

constexpr auto amp_settings = std::to_array<Setting>({
    {Role::growth_interval, "apex.amp grows after 2000 clean steps: the window is fixed in its code."},
    {Role::growth_factor, "apex.amp always grows by 2: the factor is fixed in its code."},
    {Role::backoff_factor, "apex.amp always halves: the factor is fixed in its code."},
    {Role::min_scale, "apex takes it from amp.initialize(min_loss_scale=...)."},
    {Role::max_scale, "apex takes it from amp.initialize(max_loss_scale=...), 2^24 if not given."},
    {Role::dynamic, "apex takes it from amp.initialize(loss_scale=...): \"dynamic\" or a number."},
    {Role::initial_scale, "apex starts at 2^16, or at the loss_scale given to amp.initialize."},
    {Role::hysteresis, "apex.amp has no hysteresis: every overflow backs off."},
    {Role::hysteresis_tracker, "apex.amp has no hysteresis: every overflow backs off."},
    {Role::step, "apex.amp counts no steps, only clean ones since the last change (growth_tracker)."},
});

constexpr auto amp_object_fields = std::to_array<FieldRule>({
    {"_unskipped", Role::growth_tracker, true},
    {"_loss_scale", Role::scale, true},
    {"dynamic", Role::dynamic},
    {"_max_loss_scale", Role::max_scale},
    {"_min_loss_scale", Role::min_scale},
    {"_scale_seq_len", Role::growth_interval},
});

constexpr auto apex_part_fields = std::to_array<FieldRule>({
    {"cur_scale", Role::scale, true},
    {"dynamic_loss_scale", Role::dynamic, true},
    {"cur_iter", Role::step, true},
    {"last_overflow_iter", Role::last_overflow_step},
    {"scale_factor", Role::growth_factor},
    {"scale_window", Role::growth_interval},
});

// load_state_dict() of contrib's FP16_Optimizer.
constexpr auto apex_when_dynamic =
    std::to_array<std::string_view>({"last_overflow_iter", "scale_factor", "scale_window"});

constexpr auto apex_object_fields = std::to_array<FieldRule>({
    {"cur_scale", Role::scale, true},
    {"cur_iter", Role::step},
    {"last_overflow_iter", Role::last_overflow_step},
    {"scale_factor", Role::growth_factor},
    {"scale_window", Role::growth_interval},
});

constexpr auto apex_module_parts = std::to_array<std::string_view>({"apex"});
constexpr auto apex_class_names = std::to_array<std::string_view>({"DynamicLossScaler", "LossScaler"});

constexpr auto step_settings = std::to_array<Setting>({
    {Role::growth_tracker, "This apex counts from last_overflow_step: edit that, or step."},
    {Role::growth_interval, "A static scale has no window."},
    {Role::growth_factor, "A static scale has no factor."},
    {Role::last_overflow_step, "A static scale knows no overflows."},
    {Role::backoff_factor, "This apex divides by scale_factor, which is growth_factor here."},
    {Role::min_scale, "This apex never goes below 1: the bound is fixed in its code."},
    {Role::max_scale, "This apex has no upper bound."},
    {Role::dynamic, "apex takes it from FP16_Optimizer(dynamic_loss_scale=...)."},
    {Role::hysteresis, "apex's FP16_Optimizer has no hysteresis: every overflow backs off."},
    {Role::hysteresis_tracker, "apex's FP16_Optimizer has no hysteresis: every overflow backs off."},
    {Role::initial_scale, "apex takes it from FP16_Optimizer(dynamic_loss_args={'init_scale': ...})."},
});

constexpr auto apex_policies = std::to_array<PolicyUse>({
    {"dynamic_loss_scale", "apex_contrib"},
    {"cur_scale", "apex_fp16_utils"},
    {"", "apex"},
});
constexpr auto apex_each_flag = std::to_array<Flag>({
    {Role::min_scale, "min_loss_scale="},
    {Role::max_scale, "max_loss_scale="},
    {{}, "loss_scale=", "loss_scale"},
});
constexpr Flags apex_flags{"amp.initialize(..., ", ", ", ")", apex_each_flag};
constexpr auto amp_places = std::to_array<KeptAt>({
    {"amp.*", "", "", "apex.amp"},
    {"optimizer.apex_amp.*", "", "", "mmengine (ApexOptimWrapper)"},
});
constexpr auto apex_object_places = std::to_array<KeptAt>({
    {"*", "", "", "apex.fp16_utils.FP16_Optimizer"},
});
constexpr auto apex_part_places = std::to_array<KeptAt>({
    {"*", "", "", "apex.contrib.optimizers.FP16_Optimizer"},
});
constexpr auto apex_template_fields = std::to_array<TemplateField>({{"loss_scale", "float"}, {"unskipped", "int"}});
constexpr auto apex_templates = std::to_array<StateTemplate>({
    {.name = "apex",
     .dialect = &apex_amp_state,
     .policy = "apex",
     .endings = ".pt .pth .ckpt .bin",
     .format = "torch_zip",
     .fields = apex_template_fields,
     .path = "loss_scaler0"},
});
constexpr auto apex_classes = std::to_array<ClassName>({
    {"apex.amp.scaler", "LossScaler"},
    {"apex.fp16_utils.loss_scaler", "DynamicLossScaler"},
});

}  // namespace

constinit const Dialect apex_amp_state = {
    .name = "apex",
    .framework = "apex.amp",
    .form = Form::map,
    .fields = amp_fields,
    .growth = Growth::when_equal,
    .settings = amp_settings,
    .policies = apex_policies,
    .flags = apex_flags,
    .places = amp_places,
    .templates = apex_templates,
};

constinit const Dialect apex_amp_object = {
    .name = "apex",
    .framework = "apex.amp",
    .form = Form::object,
    .fields = amp_object_fields,
    .growth = Growth::when_equal,
    .settings = amp_settings,
    .module_parts = apex_module_parts,
    .policies = apex_policies,
    .flags = apex_flags,
    .places = apex_object_places,
};

constinit const Dialect apex_part = {
    .name = "apex",
    .framework = "apex's FP16_Optimizer",
    .form = Form::part,
    .fields = apex_part_fields,
    .growth = Growth::modulo,
    .settings = step_settings,
    .needed_when_dynamic = apex_when_dynamic,
    .policies = apex_policies,
    .flags = apex_flags,
    .places = apex_part_places,
};

constinit const Dialect apex_object = {
    .name = "apex",
    .framework = "apex's FP16_Optimizer",
    .form = Form::object,
    .fields = apex_object_fields,
    .growth = Growth::modulo,
    .settings = step_settings,
    .module_parts = apex_module_parts,
    .class_names = apex_class_names,
    .policies = apex_policies,
    .flags = apex_flags,
    .places = apex_object_places,
    .classes = apex_classes,
};

}  // namespace tare
