// MS-AMP: every FP8 or FP16 tensor is an object that carries its own scale. Source:
// msamp/common/tensor/{tensor,meta}.py.
#include "lib/dialect/msamp_types.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto msamp_modules = std::to_array<std::string_view>({"msamp"});
constexpr auto msamp_classes = std::to_array<std::string_view>({"ScalingTensor", "ScalingParameter"});
constexpr auto msamp_names =
    std::to_array<std::string_view>({"scale", "scale_inv", "amax", "amax_counter", "window_size"});

Matches find_in_msamp(const Tree& tree, NodeId map, NodeId) {
  const NodeId meta = tree.fields(tree.find(map, "meta"));
  Match match;
  for (const std::string_view name : msamp_names) {
    const NodeId value = tree.find(meta, name);
    if (value != nowhere) match.parts.push_back({std::string(name), value, {}});
  }
  const NodeId type = tree.find(tree.fields(tree.find(meta, "qtype")), "name");
  if (type != nowhere) match.parts.push_back({"qtype", type, {}});
  if (tree.find(meta, "scale") == nowhere) return {};
  return {std::move(match)};
}

constexpr auto msamp_fp8_rules =
    std::to_array<Fp8Rule>({{"tensor", "scale", "scale_inv", "amax", "qtype", fp8_largest_e4m3}});
constexpr auto msamp_largest_numbers = std::to_array<std::pair<std::string_view, double>>({
    {"kFloat8E4M3", fp8_largest_e4m3},
    {"kFloat8E5M2", fp8_largest_e5m2},
    {"kFloat16", 65504},
    {"kBFloat16", 0x1.fep127},
    {"kFloat32", 0x1.fffffep127},
});

constexpr Fp8Convention msamp_fp8_conventions[] = {
    {AgeOrder::second, ScaleMeaning::multiplier, ScaleUse::stored_data, msamp_fp8_rules},
};
constexpr auto msamp_named_classes = std::to_array<ClassName>({
    {"msamp.common.dtype.dtypes", "QType"},
    {"msamp.common.tensor.hook", "HookManager"},
    {"msamp.common.tensor.meta", "ScalingMeta"},
    {"msamp.common.tensor.tensor", "ScalingTensor"},
    {"msamp.nn.parameter", "ScalingParameter"},
});

}  // namespace

std::optional<double> msamp_largest(std::string_view qtype) {
  const auto* found = std::ranges::find(msamp_largest_numbers, qtype, &std::pair<std::string_view, double>::first);
  return found == msamp_largest_numbers.end() ? std::nullopt : std::optional(found->second);
}

constinit const Dialect msamp_tensor = {
    .name = "msamp",
    .kind = "fp8",
    .framework = "MS-AMP's ScalingTensor",
    .form = Form::object,
    .find_in = find_in_msamp,
    .module_parts = msamp_modules,
    .class_names = msamp_classes,
    .classes = msamp_named_classes,
    .fp8 = {msamp_fp8_conventions, "msamp"},
};

}  // namespace tare
