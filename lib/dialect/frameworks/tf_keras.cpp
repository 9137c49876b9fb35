// TF 2's dynamic loss scale (tf_keras/mixed_precision/loss_scale_optimizer.py), and DynamicLossScale of
// tf.compat.v1.mixed_precision, which TF 1's savers keep among all other variables. A fixed scale has no variables.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto tf_keras_fields = std::to_array<FieldRule>({
    {"current_loss_scale", Role::scale, true},
    {"good_steps", Role::growth_tracker, true},
});

constexpr auto tf_keras_settings = std::to_array<Setting>({
    {Role::growth_interval,
     "TensorFlow takes it from LossScaleOptimizer(dynamic_growth_steps=...), or "
     "DynamicLossScale(increment_period=...); "
     "2000 if not given."},
    {Role::initial_scale,
     "TensorFlow takes it from LossScaleOptimizer(initial_scale=...), or DynamicLossScale(initial_loss_scale=...)."},
    {Role::growth_factor, "TensorFlow doubles, or takes it from DynamicLossScale(multiplier=...)."},
    {Role::backoff_factor, "TensorFlow divides by the growth factor."},
    {Role::min_scale, "TensorFlow never goes below 1."},
    {Role::max_scale, "TensorFlow has no upper bound but the largest float32."},
    {Role::hysteresis, "TensorFlow has none: every overflow backs off."},
    {Role::dynamic, "TensorFlow takes it from LossScaleOptimizer(dynamic=...); a fixed scale stores nothing."},
});

constexpr auto tf_keras_policies = std::to_array<PolicyUse>({
    {"", "tf_keras"},
});
constexpr auto tf_keras_each_flag = std::to_array<Flag>({
    {Role::growth_interval, "dynamic_growth_steps="},
});
constexpr Flags tf_keras_flags{"LossScaleOptimizer(..., ", ", ", ")", tf_keras_each_flag};

}  // namespace

constinit const Dialect tf_keras_part = {
    .name = "tf_keras",
    .framework = "TensorFlow's dynamic loss scale",
    .form = Form::part,
    .fields = tf_keras_fields,
    .growth = Growth::when_at_least,
    .settings = tf_keras_settings,
    .policies = tf_keras_policies,
    .flags = tf_keras_flags,
    .never_alone = "TensorFlow saves a scaler in the checkpoint of a whole optimizer, with its object graph",
};

}  // namespace tare
