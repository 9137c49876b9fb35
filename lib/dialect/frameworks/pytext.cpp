// PyText's FP16OptimizerDeprecated (Apex not installed) and those made of it: the scale and the last step's overflow
// beside the state of the optimizer within, as a dict, or as what is pickled of the object: PyText's own checkpoints
// hold the optimizer. Its counters are not stored. Sources: pytext/optimizer/fp16_optimizer.py,
// pytext/task/serialize.py.
#include <array>
#include <string>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto pytext_object_fields = std::to_array<FieldRule>({
    {"loss_scale", Role::scale, true},
    {"overflow", {}, true},
});

constexpr auto pytext_settings = std::to_array<Setting>({
    {Role::growth_interval, "PyText takes it from scale_window of its configuration, 2000 if not given."},
    {Role::growth_tracker, "PyText saves no counter: a resumed run counts its window from the start."},
    {Role::growth_factor, "PyText takes it from scale_factor of its configuration, 2 if not given."},
    {Role::backoff_factor, "PyText divides by scale_factor of its configuration."},
    {Role::initial_scale, "PyText takes it from init_scale of its configuration; a loaded checkpoint's replaces it."},
    {Role::min_scale, "PyText's scale never falls below 1: the bound is fixed in its code."},
    {Role::max_scale, "PyText has no upper bound."},
    {Role::hysteresis, "PyText has no hysteresis: every overflow backs off."},
    {Role::dynamic, "PyText's scale is always dynamic."},
});

Matches find_in_pytext(const Tree& tree, NodeId map, NodeId) {
  const NodeId scale = tree.find(map, "loss_scale"), overflow = tree.find(map, "overflow");
  if (overflow == nowhere || tree.kind(overflow) != Kind::boolean) return {};
  if (scale == nowhere || tree.find(map, "optimizer_state_dict") == nowhere) return {};
  if (tree.kind(scale) == Kind::boolean || tree.value(scale, 1).number() == nullptr) return {};
  Match match;
  match.parts.push_back({"loss_scale", scale, Role::scale});
  match.parts.push_back({"overflow", overflow, {}});
  return {match};
}

constexpr NoPolicy pytext_no_policy{
    "it is a scale alone, without the counters of its rule",
    "carry the scale by hand: tare edit CHECKPOINT scale=...",
};
constexpr auto pytext_places = std::to_array<KeptAt>({
    {"*", "", "", "PyText's FP16OptimizerDeprecated"},
});

constexpr auto pytext_module_parts = std::to_array<std::string_view>({"pytext"});
constexpr auto pytext_class_names =
    std::to_array<std::string_view>({"FP16OptimizerDeprecated", "PureFP16Optimizer", "GeneratorFP16Optimizer"});

}  // namespace

constinit const Dialect pytext_object = {
    .name = "pytext",
    .framework = "PyText's FP16OptimizerDeprecated",
    .form = Form::object,
    .fields = pytext_object_fields,
    .growth = Growth::not_stored,
    .settings = pytext_settings,
    .module_parts = pytext_module_parts,
    .class_names = pytext_class_names,
    .no_policy = pytext_no_policy,
    .places = pytext_places,
};

constinit const Dialect pytext_part = {
    .name = "pytext",
    .framework = "PyText's FP16OptimizerDeprecated",
    .form = Form::part,
    .find_in = find_in_pytext,
    .telling_word = "optimizer_state_dict",
    .growth = Growth::not_stored,
    .settings = pytext_settings,
    .no_policy = pytext_no_policy,
    .places = pytext_places,
};

}  // namespace tare
