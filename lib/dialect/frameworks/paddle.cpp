// Paddle's GradScaler: the dict of state_dict(), whose scale is a numpy array of one. Source:
// python/paddle/amp/grad_scaler.py.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto paddle_fields = std::to_array<FieldRule>({
    {"incr_every_n_steps", Role::growth_interval, true},
    {"scale", Role::scale, true},
    {"incr_ratio", Role::growth_factor, true},
    {"decr_ratio", Role::backoff_factor, true},
    {"decr_every_n_nan_or_inf", Role::hysteresis, true},
    {"incr_count", Role::growth_tracker, true},
    {"decr_count", Role::overflow_tracker, true},
    {"use_dynamic_loss_scaling", Role::dynamic},
});

// paddle.save adds it to every dict that is a state.
constexpr auto paddle_left_out = std::to_array<std::string_view>({"StructuredToParameterName@@"});

constexpr auto paddle_settings = std::to_array<Setting>({
    {Role::hysteresis_tracker, "Paddle counts up instead: edit overflow_tracker (decr_count)."},
    {Role::min_scale, "Paddle's GradScaler has no lower bound: the scale can fall to 0."},
    {Role::max_scale, "Paddle's GradScaler has no upper bound."},
    {Role::initial_scale, "Paddle takes it from GradScaler(init_loss_scaling=...); a loaded checkpoint's replaces it."},
    {Role::step, "Paddle's GradScaler counts no steps, only clean ones since the last change (growth_tracker)."},
    {Role::last_overflow_step, "Paddle's GradScaler keeps no steps; an overflow sets growth_tracker to 0."},
});

constexpr auto paddle_policies = std::to_array<PolicyUse>({
    {"", "paddle"},
});
constexpr auto paddle_places = std::to_array<KeptAt>({
    {"", "scaler.pdparams", "", "PaddleNLP's Trainer"},
});
// Source: state_dict() of a scaler that is off, paddle/amp/grad_scaler.py.
constexpr auto paddle_empty_at = std::to_array<EmptyAt>({
    {"", "scaler.pdparams"},
    {"scaler"},
});
constexpr auto paddle_template_fields = std::to_array<TemplateField>({
    {"scale", "numpy:float32[1]"},
    {"incr_ratio", "float"},
    {"decr_ratio", "float"},
    {"incr_every_n_steps", "int"},
    {"decr_every_n_nan_or_inf", "int"},
    {"incr_count", "int"},
    {"decr_count", "int"},
    {"use_dynamic_loss_scaling", "bool"},
});
constexpr auto paddle_templates = std::to_array<StateTemplate>({
    {.name = "paddle",
     .dialect = &paddle_state,
     .policy = "paddle",
     .endings = ".pdparams .pdopt .pd",
     .format = "pickle",
     .fields = paddle_template_fields,
     .is_usual = true},
});

}  // namespace

constinit const Dialect paddle_state = {
    .name = "paddle",
    .framework = "Paddle's GradScaler",
    .form = Form::map,
    .fields = paddle_fields,
    .growth = Growth::when_equal,
    .settings = paddle_settings,
    .left_out = paddle_left_out,
    .policies = paddle_policies,
    .places = paddle_places,
    .empty_at = paddle_empty_at,
    .templates = paddle_templates,
};

}  // namespace tare
