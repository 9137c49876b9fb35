// What mindformers keeps of a scaler where it saves no cell: the scale alone, in `common.json`, or in the
// `hyper_param.safetensors` of merged weights. Source: mindformers/checkpoint/checkpoint.py (CommonInfo),
// mindspore/parallel/transform_safetensors.py.
#include <fmt/format.h>

#include <array>
#include <vector>

#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/parameter_names.hpp"
#include "lib/dialect/run_pointer.hpp"

namespace tare {
namespace {

constexpr auto mindformers_common_names = std::to_array<FieldRule>({{"loss_scale", Role::scale, true}});

constexpr auto mindformers_common_settings = std::to_array<Setting>({
    {Role::growth_interval, "mindformers keeps no window here: it starts from its configuration's scale_window."},
    {Role::growth_tracker, "mindformers keeps no counter here: a resumed run counts its window from the start."},
    {Role::window_index, "mindformers keeps no window here: it starts from its configuration's scale_window."},
    {Role::growth_factor, "mindformers takes it from scale_factor of its configuration."},
    {Role::backoff_factor, "mindformers divides by scale_factor of its configuration."},
    {Role::initial_scale, "mindformers takes it from loss_scale_value; a loaded checkpoint's scale replaces it."},
    {Role::min_scale, "mindformers' scale never falls below 1: the bound is fixed in its code."},
    {Role::max_scale, "mindformers has no upper bound."},
});

/// `loss_scale` is a common word: all else that mindformers writes with it is there too, and no cell's own scale.
Matches find_in_mindformers_common(const Tree& tree, NodeId map, NodeId root) {
  const auto is_there = [&](std::string_view key) { return tree.find(map, key) != nowhere; };
  if (map != root || !is_there("global_batch_size") || !is_there("step_num") || is_there("scale_sense")) return {};
  return parameters_named(tree, map, mindformers_common_names);
}

constexpr NoPolicy mindformers_common_no_policy{
    "it is a scale alone, without the counters and the window that its update cell starts anew at every resume",
    "carry the scale by hand: tare edit CHECKPOINT scale=...",
};
constexpr auto mindformers_common_places = std::to_array<KeptAt>({
    {"", "common.json", "", "mindformers (common.json), which keeps the scale alone"},
    {"", "hyper_param.safetensors", "", "MindSpore (unified_safetensors)"},
});

std::optional<std::string> mindformers_iteration(std::string_view text) {
  const auto iteration = iteration_number(text);
  return iteration ? std::optional(fmt::format("iteration_{:08}", *iteration)) : std::nullopt;
}

constexpr auto mindformers_common_pointers = std::to_array<RunPointer>({
    {"latest_checkpointed_iteration.txt", mindformers_iteration},
});
constexpr auto mindformers_common_runs = std::to_array<RunFolder>({
    {RunFolder::Takes::pointed, "iteration_#", {}, {}, FileType::folder},
});

}  // namespace

constinit const Dialect mindformers_common_part = {
    .name = "mindformers_common",
    .framework = "mindformers",
    .form = Form::part,
    .find_in = find_in_mindformers_common,
    .telling_word = "step_num",
    .growth = Growth::not_stored,
    .settings = mindformers_common_settings,
    .no_policy = mindformers_common_no_policy,
    .places = mindformers_common_places,
};

constinit const Trainer mindformers_trainer = {
    .name = "mindformers",
    .pointers = mindformers_common_pointers,
    .runs = mindformers_common_runs,
    .last_save = {"meta.json", "last_ckpt_file"},  // CheckpointMonitor of mindformers/core/callback/callback.py
};

}  // namespace tare
