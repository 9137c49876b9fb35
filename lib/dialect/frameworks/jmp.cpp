// deepmind's jmp: the two leaves of a DynamicLossScale, and pickled loss scales. Source: jmp/_src/loss_scale.py.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto jmp_leaves = std::to_array<FieldRule>({
    {"loss_scale", Role::scale, true},
    {"counter", Role::growth_tracker, true},
});

// A StaticLossScale has the scale alone.
constexpr auto jmp_attributes = std::to_array<FieldRule>({
    {"loss_scale", Role::scale, true},
    {"counter", Role::growth_tracker},
    {"period", Role::growth_interval},
    {"factor", Role::growth_factor},
    {"min_loss_scale", Role::min_scale},
});

constexpr auto jmp_modules = std::to_array<std::string_view>({"jmp"});
constexpr auto jmp_classes = std::to_array<std::string_view>({"DynamicLossScale", "StaticLossScale"});

constexpr auto jmp_settings = std::to_array<Setting>({
    {Role::growth_interval, "jmp takes it from DynamicLossScale(period=...), 2000 by default."},
    {Role::growth_factor, "jmp takes it from DynamicLossScale(factor=...), 2 by default."},
    {Role::backoff_factor, "jmp divides by the factor by which it grows."},
    {Role::min_scale, "jmp goes down to 1: any tree_map, and so each jitted step, sets min_loss_scale to that."},
    {Role::max_scale, "jmp has no upper bound: the scale grows while it stays finite."},
    {Role::hysteresis, "jmp has no hysteresis: every overflow backs off."},
    {Role::hysteresis_tracker, "jmp has no hysteresis: every overflow backs off."},
    {Role::dynamic, "jmp's class says it: DynamicLossScale or StaticLossScale."},
});

constexpr auto jmp_policies = std::to_array<PolicyUse>({
    {"counter", "jmp"},
    {"", "constant"},
});
constexpr auto jmp_each_flag = std::to_array<Flag>({
    {Role::growth_interval, "period="},
    {Role::growth_factor, "factor="},
});
constexpr Flags jmp_flags{"DynamicLossScale(..., ", ", ", ")", jmp_each_flag};
constexpr auto jmp_empty_at = std::to_array<EmptyAt>({
    {"loss_scale"},
});
constexpr auto jmp_template_fields =
    std::to_array<TemplateField>({{"loss_scale", "numpy:float32[]"}, {"counter", "numpy:int32[]"}});
constexpr auto jmp_templates = std::to_array<StateTemplate>({
    {.name = "jmp",
     .dialect = &jmp_state,
     .policy = "jmp",
     .endings = ".npz",
     .format = "npz",
     .fields = jmp_template_fields,
     .path = "loss_scale",
     .is_usual = true},
    {.name = "jmp",
     .dialect = &jmp_state,
     .policy = "jmp",
     .endings = ".msgpack",
     .format = "msgpack",
     .fields = jmp_template_fields,
     .path = "loss_scale"},
});
constexpr auto jmp_named_classes = std::to_array<ClassName>({
    {"jmp._src.loss_scale", "DynamicLossScale"},
    {"jmp._src.loss_scale", "StaticLossScale"},
});

constexpr auto jmp_resumes = std::to_array<Resume>({
    {.stored = Resume::Stored::yes,
     .what = "sets min_loss_scale to 1 in any tree_map, so also where a state is jitted or restored",
     .helps = "give the restored scale its own min_loss_scale again",
     .source = "google-deepmind/jmp#44",
     .was_run = true},
});

}  // namespace

constinit const Dialect jmp_state = {
    .name = "jmp",
    .framework = "jmp's DynamicLossScale",
    .form = Form::map,
    .fields = jmp_leaves,
    .growth = Growth::not_stored,  // the counter wraps: one past the period grows, too
    .settings = jmp_settings,
    .policies = jmp_policies,
    .flags = jmp_flags,
    .empty_at = jmp_empty_at,
    .templates = jmp_templates,
};

constinit const Dialect jmp_object = {
    .name = "jmp",
    .framework = "jmp's loss scale",
    .form = Form::object,
    .fields = jmp_attributes,
    .growth = Growth::not_stored,  // the counter wraps: one past the period grows, too
    .settings = jmp_settings,
    .module_parts = jmp_modules,
    .class_names = jmp_classes,
    .policies = jmp_policies,
    .flags = jmp_flags,
    .classes = jmp_named_classes,
};

constinit const Trainer jmp_trainer = {
    .name = "jmp",
    .dialect = "jmp",
    .resumes = jmp_resumes,
};

}  // namespace tare
