// InternEvo's DynamicGradScaler: ColossalAI's rule with its counters stored, and none of its parameters; a copy in the
// optimizer's file of each ZeRO rank. Source: internlm/solver/optimizer/{utils,hybrid_zero_optim}.py,
// internlm/checkpoint/components.py.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto internevo_fields = std::to_array<FieldRule>({
    {"_hysteresis_step", Role::overflow_tracker, true},
    {"_growth_step", Role::growth_tracker, true},
    {"_scale", Role::scale, true},
});

constexpr auto internevo_settings = std::to_array<Setting>({
    {Role::growth_interval, "InternEvo takes it from grad_scaler.fp16.growth_interval of its configuration."},
    {Role::growth_factor, "InternEvo takes it from grad_scaler.growth_factor of its configuration."},
    {Role::backoff_factor, "InternEvo takes it from grad_scaler.backoff_factor of its configuration."},
    {Role::hysteresis, "InternEvo takes it from grad_scaler.hysteresis of its configuration."},
    {Role::hysteresis_tracker, "InternEvo counts up instead: edit overflow_tracker (_hysteresis_step)."},
    {Role::min_scale, "InternEvo takes it from grad_scaler.fp16.min_scale of its configuration."},
    {Role::max_scale, "InternEvo takes it from grad_scaler.max_scale of its configuration."},
    {Role::initial_scale, "InternEvo takes it from grad_scaler.fp16.initial_scale; a loaded one replaces it."},
    {Role::dynamic, "InternEvo's scale is always dynamic."},
    {Role::step, "InternEvo's scaler counts no steps, only clean ones since the last change (growth_tracker)."},
});

constexpr auto internevo_policies = std::to_array<PolicyUse>({
    {"", "colossalai"},
});
// Source: configs/7B_sft.py.
constexpr auto internevo_each_flag = std::to_array<Flag>({
    {Role::growth_interval, "fp16.growth_interval="},
    {Role::growth_factor, "growth_factor="},
    {Role::backoff_factor, "backoff_factor="},
    {Role::hysteresis, "hysteresis="},
    {Role::min_scale, "fp16.min_scale="},
    {Role::max_scale, "max_scale="},
});
constexpr Flags internevo_flags{"grad_scaler: ", ", ", "", internevo_each_flag};
constexpr auto internevo_places = std::to_array<KeptAt>({
    {"grad_scaler", "optimizer_*", "", "InternEvo", Authority::own_rank},
    {"grad_scaler", "", "", "InternEvo", Authority::own_rank},
});
constexpr auto internevo_empty_at = std::to_array<EmptyAt>({
    {"grad_scaler", "optimizer_*"},
});
constexpr auto internevo_template_fields = std::to_array<TemplateField>({
    {"_scale", "float", "scale"},
    {"_growth_step", "int", "growth_step"},
    {"_hysteresis_step", "int", "hysteresis_step"},
});
constexpr auto internevo_templates = std::to_array<StateTemplate>({
    {.name = "internevo",
     .dialect = &internevo_state,
     .policy = "colossalai",
     .endings = ".pt",
     .format = "torch_zip",
     .fields = internevo_template_fields,
     .path = "grad_scaler"},
});

constexpr auto internevo_rank_words = std::to_array<RankWord>({
    {"tp", false, 1, "optimizer_tp*"},
    {"wp", false, 1, "optimizer_tp*"},
    {"pp", false, 1, "optimizer_tp*", {}, 0},
    {"dp", false, 1, "optimizer_tp*"},
    {"zo", false, 1, "optimizer_tp*"},
});

}  // namespace

constinit const Dialect internevo_state = {
    .name = "internevo",
    .framework = "InternEvo's DynamicGradScaler",
    .form = Form::map,
    .fields = internevo_fields,
    .growth = Growth::when_equal,
    .settings = internevo_settings,
    .policies = internevo_policies,
    .flags = internevo_flags,
    .places = internevo_places,
    .empty_at = internevo_empty_at,
    .templates = internevo_templates,
};

constinit const Trainer internevo_trainer = {
    .name = "InternEvo",
    .rank_words = internevo_rank_words,
};

}  // namespace tare
