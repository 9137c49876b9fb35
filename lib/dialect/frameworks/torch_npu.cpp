// torch_npu's GradScaler: torch's state and a sixth key, which its load_state_dict() requires. Source:
// torch_npu/npu/amp/grad_scaler.py.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto torch_npu_fields = std::to_array<FieldRule>({
    {"_growth_tracker", Role::growth_tracker, true},
    {"scale", Role::scale, true},
    {"growth_factor", Role::growth_factor, true},
    {"backoff_factor", Role::backoff_factor, true},
    {"growth_interval", Role::growth_interval, true},
    {"dynamic", Role::dynamic, true},
});

constexpr auto torch_npu_settings = std::to_array<Setting>({
    {Role::hysteresis, "torch_npu's GradScaler has no hysteresis: every overflow backs off."},
    {Role::hysteresis_tracker, "torch_npu's GradScaler has no hysteresis: every overflow backs off."},
    {Role::overflow_tracker, "torch_npu's GradScaler counts no overflows: every one backs off."},
    {Role::min_scale, "torch_npu's GradScaler has no lower bound: the scale can fall to 0."},
    {Role::max_scale, "torch_npu's GradScaler has no upper bound."},
    {Role::initial_scale,
     "torch_npu takes it from GradScaler(init_scale=...); a loaded checkpoint's scale replaces it."},
    {Role::step, "torch_npu's GradScaler counts no steps, only clean ones since the last change (growth_tracker)."},
    {Role::last_overflow_step, "torch_npu's GradScaler keeps no steps; an overflow sets growth_tracker to 0."},
});

constexpr auto torch_npu_policies = std::to_array<PolicyUse>({
    {"", "torch_npu"},
});
constexpr auto torch_npu_places = std::to_array<KeptAt>({
    {"*", "", "", "a run on Ascend NPUs (torch_npu)"},
});
constexpr auto torch_npu_template_fields = std::to_array<TemplateField>({
    {"scale", "float"},
    {"growth_factor", "float"},
    {"backoff_factor", "float"},
    {"growth_interval", "int"},
    {"_growth_tracker", "int"},
    {"dynamic", "bool"},
});
constexpr auto torch_npu_templates = std::to_array<StateTemplate>({
    {.name = "torch_npu",
     .dialect = &torch_npu_state,
     .policy = "torch_npu",
     .endings = ".pt .pth .ckpt .bin",
     .format = "torch_zip",
     .fields = torch_npu_template_fields},
});

}  // namespace

constinit const Dialect torch_npu_state = {
    .name = "torch",
    .framework = "torch_npu's GradScaler",
    .form = Form::map,
    .fields = torch_npu_fields,
    .growth = Growth::when_equal,
    .settings = torch_npu_settings,
    .policies = torch_npu_policies,
    .places = torch_npu_places,
    .templates = torch_npu_templates,
};

}  // namespace tare
