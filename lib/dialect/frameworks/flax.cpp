// flax's DynamicScale (flax/training/dynamic_scale.py): two leaves of a training state; the rest is configuration. A
// step that finds fin_steps at growth_interval grows the scale, so that growth comes one step later than in others.
//
// And the FP8 state of its dense operations (flax/linen/fp8_ops.py), in the collection _overwrite_with_gradient: for
// each of three tensors a scale, which is what values are divided by, and the history of its largest values, newest
// first.
#include <algorithm>
#include <array>

#include "kernels/fp8/flax.hpp"
#include "lib/dialect/found.hpp"
#include "lib/dialect/frameworks/flax.hpp"
#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/rank_name.hpp"

namespace tare {
namespace {

constexpr auto flax_fields = std::to_array<FieldRule>({
    {"fin_steps", Role::growth_tracker, true},
    {"scale", Role::scale, true},
});

constexpr auto flax_settings = std::to_array<Setting>({
    {Role::growth_interval, "flax takes it from DynamicScale(growth_interval=...), 2000 if not given."},
    {Role::growth_factor, "flax takes it from DynamicScale(growth_factor=...), 2 if not given."},
    {Role::backoff_factor, "flax takes it from DynamicScale(backoff_factor=...), 0.5 if not given."},
    {Role::min_scale, "flax takes it from DynamicScale(minimum_scale=...), the smallest normal float32 if not given."},
    {Role::initial_scale, "flax takes it from DynamicScale(scale=...); a restored scale replaces it."},
    {Role::max_scale, "flax has no upper bound but the largest float32."},
    {Role::hysteresis, "flax has none: every overflow backs off."},
    {Role::dynamic, "A DynamicScale is always dynamic."},
});

constexpr auto fp8_fields = std::to_array<std::string_view>({
    "input_amax_history",
    "input_scale",
    "kernel_amax_history",
    "kernel_scale",
    "output_grad_amax_history",
    "output_grad_scale",
});

bool is_fp8_item(std::string_view key) {
  return std::ranges::find(fp8_fields, key.substr(key.rfind('.') + 1)) != fp8_fields.end();
}

Matches find_fp8(const Tree& tree, NodeId map, NodeId) {
  Match match;
  for (const std::string_view name : fp8_fields) {
    const NodeId node = tree.find(map, name);
    if (node == nowhere || (tree.kind(node) != Kind::array && tree.kind(node) != Kind::tensor)) return {};
    match.parts.push_back({std::string(name), node, {}});
  }
  return {match};
}

constexpr auto flax_policies = std::to_array<PolicyUse>({
    {"", "flax"},
});
constexpr auto flax_each_flag = std::to_array<Flag>({
    {Role::growth_interval, "growth_interval="},
    {Role::growth_factor, "growth_factor="},
    {Role::backoff_factor, "backoff_factor="},
    {Role::min_scale, "minimum_scale="},
});
constexpr Flags flax_flags{"DynamicScale(", ", ", ")", flax_each_flag};
constexpr auto flax_empty_at = std::to_array<EmptyAt>({
    {"dynamic_scale"},
});
constexpr auto flax_template_fields = std::to_array<TemplateField>({{"fin_steps", "int"}, {"scale", "float"}});
constexpr auto flax_templates = std::to_array<StateTemplate>({
    {.name = "flax",
     .dialect = &flax_state,
     .policy = "flax",
     .endings = ".msgpack",
     .format = "msgpack",
     .fields = flax_template_fields,
     .path = "dynamic_scale",
     .is_usual = true},
});

constexpr auto flax_fp8_rules = std::to_array<Fp8Rule>({
    {"input", "input_scale", {}, "input_amax_history", {}, fp8_largest_e4m3},
    {"weight", "kernel_scale", {}, "kernel_amax_history", {}, fp8_largest_e4m3},
    {"grad_output", "output_grad_scale", {}, "output_grad_amax_history", {}, fp8_largest_e5m2},
});
constexpr Fp8Convention flax_fp8_conventions[] = {
    {AgeOrder::first_wraps, ScaleMeaning::divisor, ScaleUse::recomputed, flax_fp8_rules},
};

/// For AMD's float8_e4m3fnuz, told by the module's own name alone (where it was given none).
constexpr std::string_view flax_nanoo = "NANOOFp8DotGeneralOp";
constexpr double flax_largest_e4m3fnuz = 240;

std::optional<double> flax_format_max(const FoundScaler& state, const Fp8Rule& rule) {
  const bool is_nanoo = rule.format_max == fp8_largest_e4m3 && state.path.find(flax_nanoo) != state.path.npos;
  return is_nanoo ? std::optional(flax_largest_e4m3fnuz) : std::nullopt;
}

/// flax.training.checkpoints.save_checkpoint.
constexpr auto flax_runs = std::to_array<RunFolder>({
    {RunFolder::Takes::highest, "checkpoint_#", {}, {}, FileType::file},
});

/// flax.training.checkpoints.save_checkpoint(prefix=...): "model_6", without an ending.
std::optional<Saves> highest_of_flax(const std::vector<std::string>& names) {
  const std::string_view first = names.front();
  const std::string_view prefix = first.substr(0, first.find_last_not_of("0123456789") + 1);
  const auto is_numbered = [&](const std::string& name) {
    return name.size() > prefix.size() && name.starts_with(prefix) &&
           name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
  };
  if (!prefix.ends_with('_') || rank_group(first) || !std::ranges::all_of(names, is_numbered)) return std::nullopt;
  const auto name = highest_save(names, prefix);
  return name ? std::optional(Saves{*name, names.size(), "the highest, what flax resumes from"}) : std::nullopt;
}

}  // namespace

float flax_next_scale(float stored, float amax, float fp8_max, float two_to_margin) {
  return kernels::fp8::next_scale(kernels::fp8::FlaxParams{two_to_margin}, stored, amax, fp8_max);
}

constinit const Dialect flax_state = {
    .name = "flax",
    .framework = "flax's DynamicScale",
    .form = Form::map,
    .fields = flax_fields,
    .growth = Growth::when_equal,
    .settings = flax_settings,
    .policies = flax_policies,
    .flags = flax_flags,
    .empty_at = flax_empty_at,
    .templates = flax_templates,
};

constinit const Dialect flax_fp8 = {
    .name = "flax",
    .kind = "fp8",
    .framework = "flax's FP8 operations",
    .form = Form::map,
    .find_in = find_fp8,
    .telling_word = fp8_fields[0],
    .fp8 = {flax_fp8_conventions, "flax_fp8", flax_next_scale, HistoryResize::entry_age, is_fp8_item, flax_format_max},
};

constinit const Trainer flax_trainer = {
    .name = "flax",
    .runs = flax_runs,
    .choose_save = highest_of_flax,
};

}  // namespace tare
