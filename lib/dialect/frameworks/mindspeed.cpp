// MindSpeed's low-precision AdamW: a moment in 8 or 16 bits is a tensor with an attribute `meta` that holds the scale
// of each block. Source: mindspeed/core/optimizer/low_precision/quant_adamw.py, ScaleMeta.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto mindspeed_modules = std::to_array<std::string_view>({"mindspeed"});
constexpr auto mindspeed_class_names = std::to_array<std::string_view>({"ScaleMeta"});
constexpr auto mindspeed_names = std::to_array<std::string_view>({"scale", "scale_inv"});

/// Where the moments are MXFP8, both are None until the first step.
Matches find_in_mindspeed(const Tree& tree, NodeId map, NodeId) {
  Match match;
  for (const std::string_view name : mindspeed_names) {
    const NodeId value = tree.find(map, name);
    if (value != nowhere && tree.kind(value) == Kind::tensor) match.parts.push_back({std::string(name), value, {}});
  }
  if (match.parts.empty()) return {};
  const NodeId largest = tree.find(map, "fp8_max");
  if (largest != nowhere && tree.kind(largest) == Kind::integer) match.parts.push_back({"fp8_max", largest, {}});
  return {std::move(match)};
}

constexpr auto mindspeed_rules =
    std::to_array<Fp8Rule>({{"moment", "scale", "scale_inv", {}, "fp8_max", fp8_largest_e4m3}});
constexpr Fp8Convention mindspeed_conventions[] = {
    {AgeOrder::first, ScaleMeaning::multiplier, ScaleUse::stored_data, mindspeed_rules},
};
constexpr auto mindspeed_classes = std::to_array<ClassName>({
    {"mindspeed.core.optimizer.low_precision.quant_adamw", "ScaleMeta"},
});

/// A run of Megatron's with MindSpeed's arguments.
constexpr auto with_fp8 = std::to_array<Condition>({
    {.keys = "args.fp8"},
    {.keys = "args.use_ascend_mc2", .is = Condition::Is::there},
});
constexpr auto mindspeed_resumes = std::to_array<Resume>({
    {.needs = with_fp8,
     .what =
         "keeps no FP8 state of its TransformerEngine layers, whose extra state is None: a resumed run with delayed "
         "scaling begins with new scales and histories",
     .source = "mindspeed/te/pytorch/module/linear.py, get_extra_state (028de58)",
     .why_read = "needs an NPU and its toolkit"},
});

}  // namespace

constinit const Dialect mindspeed_meta = {
    .name = "mindspeed",
    .kind = "fp8",
    .framework = "MindSpeed's low-precision AdamW",
    .form = Form::object,
    .find_in = find_in_mindspeed,
    .module_parts = mindspeed_modules,
    .class_names = mindspeed_class_names,
    .classes = mindspeed_classes,
    .fp8 = {mindspeed_conventions},
};

constinit const Trainer mindspeed_trainer = {
    .name = "MindSpeed",
    .resumes = mindspeed_resumes,
};

}  // namespace tare
