// ParlAI's SafeFP16Optimizer and pytorch_optimizer's, which was made of it: fairseq's scaler. A number in the
// optimizer's state dict, of the newer ones; the pickled object of ParlAI's first MemoryEfficientFP16Optimizer, and of
// pytorch_optimizer's first releases. Sources: parlai/utils/fp16.py, pytorch_optimizer/optimizer/fp16.py.
#include <array>
#include <string>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto parlai_object_fields = std::to_array<FieldRule>({
    {"tolerance", {}, true},
    {"loss_scale", Role::scale, true},
    {"scale_window", Role::growth_interval, true},
    {"scale_factor", Role::growth_factor},
    {"_iter", Role::step},
    {"iter", Role::step},
    {"_last_overflow_iter", Role::last_overflow_step},
    {"last_overflow_iter", Role::last_overflow_step},
});

constexpr auto parlai_settings = std::to_array<Setting>({
    {Role::growth_interval, "It is 2000: fixed in their code."},
    {Role::growth_tracker, "Their optimizers keep no counter: a resumed run counts its window from the start."},
    {Role::hysteresis, "They take a percentage of overflows instead: tolerance."},
    {Role::min_scale, "It is 2^-5, with --fp16-impl mem_efficient 1e-4: at or below it the run stops."},
    {Role::initial_scale, "It is 2^15, with --fp16-impl mem_efficient 2^17; a loaded checkpoint's replaces it."},
    {Role::growth_factor, "It is 2: fixed in their code."},
    {Role::backoff_factor, "They divide by the growth factor, 2."},
    {Role::max_scale, "They have no upper bound."},
    {Role::dynamic, "Their scale is always dynamic."},
});

/// A number in an optimizer's state dict: many frameworks keep more than that under such a key.
Matches find_in_parlai(const Tree& tree, NodeId map, NodeId) {
  const NodeId scale = tree.find(map, "loss_scaler");
  if (scale == nowhere || tree.find(map, "param_groups") == nowhere) return {};
  if (tree.kind(scale) == Kind::boolean || tree.value(scale, 1).number() == nullptr) return {};
  Match match;
  match.parts.push_back({"loss_scaler", scale, Role::scale});
  return {match};
}

constexpr NoPolicy parlai_no_policy{
    "its rule is fairseq's but at the minimum, where it stops with its counters moved on",
    "carry the scale by hand: tare edit CHECKPOINT scale=...",
};
constexpr auto parlai_module_parts = std::to_array<std::string_view>({"parlai", "pytorch_optimizer"});
constexpr auto parlai_class_names = std::to_array<std::string_view>({"DynamicLossScaler"});
constexpr auto parlai_places = std::to_array<KeptAt>({
    {"*", "", "number_training_updates", "ParlAI"},
    {"*", "", "", "ParlAI, or pytorch_optimizer (SafeFP16Optimizer)"},
});

}  // namespace

constinit const Dialect parlai_part = {
    .name = "parlai",
    .framework = "ParlAI's SafeFP16Optimizer",
    .form = Form::part,
    .find_in = find_in_parlai,
    .telling_word = "loss_scaler",
    .growth = Growth::not_stored,
    .settings = parlai_settings,
    .no_policy = parlai_no_policy,
    .places = parlai_places,
};

constinit const Dialect parlai_object = {
    .name = "parlai",
    .framework = "ParlAI's DynamicLossScaler",
    .form = Form::object,
    .fields = parlai_object_fields,
    .growth = Growth::modulo,
    .settings = parlai_settings,
    .module_parts = parlai_module_parts,
    .class_names = parlai_class_names,
    .no_policy = parlai_no_policy,
    .places = parlai_places,
};

}  // namespace tare
