// ColossalAI's DynamicGradScaler: the scale (a float32 tensor) and its hyper-parameters, but none of its counters.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto fields = std::to_array<FieldRule>({
    {"hysteresis", Role::hysteresis, true},
    {"scale", Role::scale, true},
    {"growth_factor", Role::growth_factor, true},
    {"backoff_factor", Role::backoff_factor, true},
});

constexpr auto settings = std::to_array<Setting>({
    {Role::growth_interval, "ColossalAI takes it from growth_interval, where the plugin or optimizer is made."},
    {Role::growth_tracker, "ColossalAI saves no counter: a resumed run counts from 0."},
    {Role::overflow_tracker, "ColossalAI saves no counter: a resumed run counts from 0."},
    {Role::hysteresis_tracker, "ColossalAI saves no counter: a resumed run counts from 0."},
    {Role::min_scale, "ColossalAI takes it from min_scale, where the plugin or optimizer is made."},
    {Role::max_scale, "ColossalAI takes it from max_scale, where the plugin or optimizer is made."},
    {Role::initial_scale, "ColossalAI takes it from initial_scale, where the plugin or optimizer is made."},
    {Role::dynamic, "ColossalAI's scale is dynamic wherever it saves this state."},
});

constexpr auto policies = std::to_array<PolicyUse>({
    {"", "colossalai"},
});
constexpr auto each_flag = std::to_array<Flag>({
    {Role::growth_interval, "growth_interval="},
    {Role::min_scale, "min_scale="},
    {Role::max_scale, "max_scale="},
});
constexpr Flags flags{"", ", ", "", each_flag};
constexpr auto places = std::to_array<KeptAt>({
    {"optimizer.grad_scaler", "", "", "ColossalAI"},
});
constexpr auto empty_at = std::to_array<EmptyAt>({
    {"optimizer.grad_scaler"},
});
constexpr auto template_fields = std::to_array<TemplateField>({
    {"scale", "tensor:float32[1]"},
    {"growth_factor", "float"},
    {"backoff_factor", "float"},
    {"hysteresis", "int"},
});
constexpr auto templates = std::to_array<StateTemplate>({
    {.name = "colossalai",
     .dialect = &colossalai_state,
     .policy = "colossalai",
     .endings = ".pt .pth .ckpt .bin",
     .format = "torch_zip",
     .fields = template_fields},
});
constexpr auto classes = std::to_array<ClassName>({
    {"colossalai.amp.naive_amp.grad_scaler.dynamic_grad_scaler", "DynamicGradScaler"},
});

}  // namespace

constinit const Dialect colossalai_state = {
    .name = "colossalai",
    .framework = "ColossalAI",
    .form = Form::map,
    .fields = fields,
    .growth = Growth::not_stored,
    .settings = settings,
    .policies = policies,
    .flags = flags,
    .places = places,
    .empty_at = empty_at,
    .templates = templates,
    .classes = classes,
};

}  // namespace tare
