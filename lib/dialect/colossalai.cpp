// ColossalAI's DynamicGradScaler: the scale (a float32 tensor) and its hyper-parameters, but none of its counters.
#include <array>

#include "lib/dialect/shapes.hpp"

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

}  // namespace

constinit const Dialect colossalai_state = {
    .name = "colossalai",
    .framework = "ColossalAI",
    .form = Form::map,
    .fields = fields,
    .growth = Growth::not_stored,
    .settings = settings,
};

}  // namespace tare
