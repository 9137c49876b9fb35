// MegEngine's GradScaler: the dict of state_dict(), Python numbers. Source: megengine/amp/grad_scaler.py.
#include <array>
#include <optional>
#include <string>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto megengine_fields = std::to_array<FieldRule>({
    {"scale_factor", Role::scale, true},
    {"_growth_tracker", Role::growth_tracker, true},
    {"growth_interval", Role::growth_interval, true},
    {"growth_factor", Role::growth_factor, true},
    {"backoff_factor", Role::backoff_factor, true},
});

/// An interval of 0 is none: the scale is fixed.
Matches find_in_megengine(const Tree& tree, NodeId map, NodeId) {
  Match match;
  for (const FieldRule& rule : megengine_fields) {
    const NodeId node = tree.find(map, rule.name);
    if (node == nowhere || tree.value(node, 1).number() == nullptr) return {};
    const bool is_none = rule.role == Role::growth_interval && tree.value(node, 1).as_double() == 0;
    match.parts.push_back({std::string(rule.name), node, is_none ? std::nullopt : rule.role});
  }
  return {match};
}

constexpr auto megengine_settings = std::to_array<Setting>({
    {Role::growth_interval, "MegEngine's scale is fixed where growth_interval is 0."},
    {Role::min_scale, "MegEngine's GradScaler has no lower bound: the scale can fall to 0."},
    {Role::max_scale, "MegEngine's GradScaler has no upper bound."},
    {Role::initial_scale, "MegEngine takes it from GradScaler(init_scale=...); a loaded checkpoint's replaces it."},
    {Role::hysteresis, "MegEngine has no hysteresis: every overflow backs off."},
    {Role::hysteresis_tracker, "MegEngine has no hysteresis: every overflow backs off."},
    {Role::dynamic, "MegEngine's scale is fixed where growth_interval is 0."},
});

constexpr NoPolicy megengine_no_policy{
    "its rule is not torch's: the scale is a Python number without bounds, and a tracker beyond the interval grows it",
    "carry the values by hand: tare edit CHECKPOINT scale=...",
};
constexpr auto megengine_places = std::to_array<KeptAt>({
    {"*", "", "", "MegEngine's GradScaler"},
});

}  // namespace

constinit const Dialect megengine_state = {
    .name = "megengine",
    .framework = "MegEngine's GradScaler",
    .form = Form::map,
    .find_in = find_in_megengine,
    .telling_word = "scale_factor",
    .growth = Growth::when_at_least,
    .settings = megengine_settings,
    .no_policy = megengine_no_policy,
    .places = megengine_places,
};

}  // namespace tare
