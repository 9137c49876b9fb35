// TF 1's ExponentialUpdateLossScaleManager (tensorflow/contrib/mixed_precision/python/loss_scale_manager.py).
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto tf_contrib_fields = std::to_array<FieldRule>({
    {"bad_steps", Role::overflow_tracker, true},
    {"good_steps", Role::growth_tracker, true},
    {"loss_scale", Role::scale, true},
});

constexpr auto tf_contrib_settings = std::to_array<Setting>({
    {Role::growth_interval, "tf.contrib takes it from ExponentialUpdateLossScaleManager(incr_every_n_steps=...)."},
    {Role::hysteresis,
     "tf.contrib takes it from ExponentialUpdateLossScaleManager(decr_every_n_nan_or_inf=...), 2 if not given."},
    {Role::growth_factor, "tf.contrib takes it from ExponentialUpdateLossScaleManager(incr_ratio=...)."},
    {Role::backoff_factor, "tf.contrib takes it from ExponentialUpdateLossScaleManager(decr_ratio=...)."},
    {Role::initial_scale, "tf.contrib takes it from ExponentialUpdateLossScaleManager(init_loss_scale=...)."},
    {Role::min_scale, "tf.contrib never goes below 1."},
    {Role::max_scale, "tf.contrib has no upper bound but the largest float32."},
    {Role::hysteresis_tracker, "tf.contrib counts up instead: edit overflow_tracker."},
    {Role::dynamic, "It is always dynamic; a FixedLossScaleManager stores nothing."},
});

constexpr NoPolicy tf_contrib_no_policy{
    "tf.contrib's loss scale managers went with TensorFlow 1, whose steps can no longer be run to hold a rule against",
    "carry the scale by hand: tare edit CHECKPOINT scale=...",
};
constexpr auto tf_contrib_each_flag = std::to_array<Flag>({
    {Role::growth_interval, "incr_every_n_steps="},
    {Role::hysteresis, "decr_every_n_nan_or_inf="},
    {Role::growth_factor, "incr_ratio="},
    {Role::backoff_factor, "decr_ratio="},
});
constexpr Flags tf_contrib_flags{"ExponentialUpdateLossScaleManager(..., ", ", ", ")", tf_contrib_each_flag};

}  // namespace

constinit const Dialect tf_contrib_part = {
    .name = "tf_contrib",
    .framework = "tf.contrib's loss scale manager",
    .form = Form::part,
    .fields = tf_contrib_fields,
    .growth = Growth::when_equal,
    .settings = tf_contrib_settings,
    .no_policy = tf_contrib_no_policy,
    .flags = tf_contrib_flags,
    .never_alone = "TensorFlow saves a scaler among the variables of a whole graph",
};

}  // namespace tare
