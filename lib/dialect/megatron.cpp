// Megatron-LM: DynamicGradScaler's dict of three (a float32 CUDA tensor and two counters; the constant scaler saves
// {}), and the pickled loss scaler of releases before 2.0.
#include <array>

#include "lib/dialect/shapes.hpp"

namespace tare {
namespace {

constexpr auto state_fields = std::to_array<FieldRule>({
    {"hysteresis_tracker", Role::hysteresis_tracker, true},
    {"scale", Role::scale, true},
    {"growth_tracker", Role::growth_tracker, true},
});

constexpr auto settings = std::to_array<Setting>({
    {Role::growth_interval, "Megatron takes its window from --loss-scale-window."},
    {Role::hysteresis, "Megatron takes it from --hysteresis."},
    {Role::min_scale, "Megatron takes it from --min-loss-scale."},
    {Role::max_scale, "Megatron has no upper bound."},
    {Role::initial_scale, "Megatron takes it from --initial-loss-scale; a loaded checkpoint's scale replaces it."},
    {Role::growth_factor, "Megatron always grows by 2: the factor is fixed in its code."},
    {Role::backoff_factor, "Megatron always backs off by 0.5: the factor is fixed in its code."},
    {Role::dynamic, "Megatron's scale is dynamic unless --loss-scale fixes it; a fixed one is not saved."},
    {Role::overflow_tracker, "Megatron counts down instead: edit hysteresis_tracker."},
});

constexpr auto object_fields = std::to_array<FieldRule>({
    {"cur_scale", Role::scale, true},
    {"cur_iter", Role::step},
    {"last_overflow_iter", Role::last_overflow_step},
    {"scale_factor", Role::growth_factor},
    {"scale_window", Role::growth_interval},
    {"min_scale", Role::min_scale},
    {"delayed_shift", Role::hysteresis},
    {"cur_hysteresis", Role::hysteresis_tracker},
});

constexpr auto module_parts = std::to_array<std::string_view>({"megatron", "fp16"});
constexpr auto class_names = std::to_array<std::string_view>({"DynamicLossScaler", "LossScaler"});

constexpr auto object_settings = std::to_array<Setting>({
    {Role::growth_tracker, "This Megatron counts from last_overflow_step: edit that, or step."},
    {Role::backoff_factor, "This Megatron divides by scale_factor, which is growth_factor here."},
    {Role::max_scale, "Megatron has no upper bound."},
    {Role::initial_scale, "Megatron takes it from --initial-loss-scale; a loaded checkpoint's scale replaces it."},
    {Role::dynamic, "Megatron's scale is dynamic unless --loss-scale fixes it."},
    {Role::overflow_tracker, "Megatron counts down instead: edit hysteresis_tracker."},
});

}  // namespace

constinit const Dialect megatron_state = {
    .name = "megatron",
    .framework = "Megatron's DynamicGradScaler",
    .form = Form::map,
    .fields = state_fields,
    .growth = Growth::when_equal,
    .settings = settings,
};

constinit const Dialect megatron_object = {
    .name = "megatron",
    .framework = "Megatron's loss scaler (before 2.0)",
    .form = Form::object,
    .fields = object_fields,
    .growth = Growth::modulo,
    .settings = object_settings,
    .module_parts = module_parts,
    .class_names = class_names,
};

}  // namespace tare
