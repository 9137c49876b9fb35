// ColossalAI's DynamicGradScaler: the scale (a float32 tensor) and its hyper-parameters, but none of its counters.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto colossalai_fields = std::to_array<FieldRule>({
    {"hysteresis", Role::hysteresis, true},
    {"scale", Role::scale, true},
    {"growth_factor", Role::growth_factor, true},
    {"backoff_factor", Role::backoff_factor, true},
});

constexpr auto colossalai_settings = std::to_array<Setting>({
    {Role::growth_interval, "ColossalAI takes it from growth_interval, where the plugin or optimizer is made."},
    {Role::growth_tracker, "ColossalAI saves no counter: a resumed run counts from 0."},
    {Role::overflow_tracker, "ColossalAI saves no counter: a resumed run counts from 0."},
    {Role::hysteresis_tracker, "ColossalAI saves no counter: a resumed run counts from 0."},
    {Role::min_scale, "ColossalAI takes it from min_scale, where the plugin or optimizer is made."},
    {Role::max_scale, "ColossalAI takes it from max_scale, where the plugin or optimizer is made."},
    {Role::initial_scale, "ColossalAI takes it from initial_scale, where the plugin or optimizer is made."},
    {Role::dynamic, "ColossalAI's scale is dynamic wherever it saves this state."},
});

constexpr auto colossalai_policies = std::to_array<PolicyUse>({
    {"", "colossalai"},
});
constexpr auto colossalai_each_flag = std::to_array<Flag>({
    {Role::growth_interval, "growth_interval="},
    {Role::min_scale, "min_scale="},
    {Role::max_scale, "max_scale="},
});
constexpr Flags colossalai_flags{"", ", ", "", colossalai_each_flag};
constexpr auto colossalai_places = std::to_array<KeptAt>({
    {"optimizer.grad_scaler", "", "", "ColossalAI"},
});
constexpr auto colossalai_empty_at = std::to_array<EmptyAt>({
    {"optimizer.grad_scaler"},
});
constexpr auto colossalai_template_fields = std::to_array<TemplateField>({
    {"scale", "tensor:float32[1]"},
    {"growth_factor", "float"},
    {"backoff_factor", "float"},
    {"hysteresis", "int"},
});
constexpr auto colossalai_templates = std::to_array<StateTemplate>({
    {.name = "colossalai",
     .dialect = &colossalai_state,
     .policy = "colossalai",
     .endings = ".pt .pth .ckpt .bin",
     .format = "torch_zip",
     .fields = colossalai_template_fields},
});
constexpr auto colossalai_classes = std::to_array<ClassName>({
    {"colossalai.amp.naive_amp.grad_scaler.dynamic_grad_scaler", "DynamicGradScaler"},
});

}  // namespace

constinit const Dialect colossalai_state = {
    .name = "colossalai",
    .framework = "ColossalAI",
    .form = Form::map,
    .fields = colossalai_fields,
    .growth = Growth::not_stored,
    .settings = colossalai_settings,
    .policies = colossalai_policies,
    .flags = colossalai_flags,
    .places = colossalai_places,
    .empty_at = colossalai_empty_at,
    .templates = colossalai_templates,
    .classes = colossalai_classes,
};

}  // namespace tare
