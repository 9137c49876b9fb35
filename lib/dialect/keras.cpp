// Keras 3's LossScaleOptimizer (keras/src/optimizers/loss_scale_optimizer.py): two variables by name among the
// optimizer's others.
#include <array>

#include "lib/dialect/shapes.hpp"

namespace tare {
namespace {

constexpr auto fields = std::to_array<FieldRule>({
    {"dynamic_scale", Role::scale, true},
    {"step_counter", Role::growth_tracker, true},
});

constexpr auto settings = std::to_array<Setting>({
    {Role::growth_interval, "Keras takes it from LossScaleOptimizer(dynamic_growth_steps=...), 2000 if not given."},
    {Role::initial_scale, "Keras takes it from LossScaleOptimizer(initial_scale=...)."},
    {Role::growth_factor, "Keras always doubles."},
    {Role::backoff_factor, "Keras always halves."},
    {Role::min_scale, "Keras has no lower bound."},
    {Role::max_scale, "Keras has no upper bound."},
    {Role::hysteresis, "Keras has none: every overflow backs off."},
    {Role::dynamic,
     "A LossScaleOptimizer is always dynamic; for a fixed scale set loss_scale_factor of the optimizer."},
});

}  // namespace

constinit const Dialect keras_legacy = {
    .name = "keras",
    .framework = "Keras's LossScaleOptimizer",
    .form = Form::part,
    .fields = fields,
    .growth = Growth::when_equal,
    .settings = settings,
};

}  // namespace tare
