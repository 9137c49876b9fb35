// Cerebras' GradScaler of dynamic scales: the dict of state_dict(). Source: cerebras/pytorch/amp/_grad_scaler.py.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto cerebras_fields = std::to_array<FieldRule>({
    {"steps_since_rescale", Role::growth_tracker, true},
    {"loss_scale", Role::scale, true},
    {"overflows_since_rescale", Role::overflow_tracker, true},
    {"num_skipped_steps", {}},
});

constexpr auto cerebras_settings = std::to_array<Setting>({
    {Role::growth_interval, "Cerebras takes it from GradScaler(steps_per_increase=...), 2000 if not given."},
    {Role::min_scale, "Cerebras takes it from GradScaler(min_loss_scale=...), 2^-14 if not given."},
    {Role::max_scale, "Cerebras takes it from GradScaler(max_loss_scale=...)."},
    {Role::initial_scale, "Cerebras takes it from GradScaler(init_scale=...); a loaded checkpoint's replaces it."},
    {Role::hysteresis, "Cerebras takes a share of overflows, GradScaler(overflow_tolerance=...)."},
    {Role::growth_factor, "Cerebras always grows by 2: the factor is fixed in its code."},
    {Role::backoff_factor, "Cerebras always halves: the factor is fixed in its code."},
    {Role::dynamic, "Cerebras keeps counters of a dynamic scale alone."},
});

constexpr NoPolicy cerebras_no_policy{
    "tare runs no rule with a share of overflows over the steps since the last change",
    "carry the scale by hand: tare edit CHECKPOINT scale=...",
};
constexpr auto cerebras_places = std::to_array<KeptAt>({
    {"*", "", "", "Cerebras' GradScaler"},
});

}  // namespace

constinit const Dialect cerebras_state = {
    .name = "cerebras",
    .framework = "Cerebras' GradScaler",
    .form = Form::map,
    .fields = cerebras_fields,
    .growth = Growth::not_stored,
    .settings = cerebras_settings,
    .no_policy = cerebras_no_policy,
    .places = cerebras_places,
};

}  // namespace tare
