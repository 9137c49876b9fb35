// Intel Gaudi's TransformerEngine: a fork of releases up to 0.10 whose histories are written round and round, with the
// entry that the newest amax was written to beside them; where both directions are e5m2 in the backward pass, the
// forward tensors have a second set of scales ("hybrid"). transformer_engine.cpp finds it: its extra state is
// otherwise the same. Sources: intel_transformer_engine of habana_frameworks, module/base.py and fp8.py.
#include <array>
#include <cmath>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr std::string_view gaudi_max_fwd = "extra_fp8_variables.fp8_max_fwd";
constexpr std::string_view gaudi_max_bwd = "extra_fp8_variables.fp8_max_bwd";

constexpr Fp8Rule gaudi_ahead(std::string_view role, std::uint32_t column) {
  Fp8Rule rule{role, "scale_fwd", "scale_inv_fwd", "amax_history_fwd", gaudi_max_fwd, fp8_largest_e4m3, column, 2};
  rule.index = "amax_history_index_fwd";
  return rule;
}

constexpr Fp8Rule gaudi_hybrid(std::string_view role, std::uint32_t column) {
  Fp8Rule rule{role, "scale_hybrid", "scale_inv_hybrid", "amax_history_hybrid", gaudi_max_bwd, fp8_largest_e5m2, column,
               2};
  rule.index = "amax_history_index_hybrid";
  return rule;
}

constexpr Fp8Rule gaudi_back() {
  Fp8Rule rule{"grad_output", "scale_bwd", "scale_inv_bwd", "amax_history_bwd", gaudi_max_bwd, fp8_largest_e5m2, 0, 1};
  rule.index = "amax_history_index_bwd";
  return rule;
}

constexpr auto gaudi_rules = std::to_array<Fp8Rule>({
    gaudi_ahead("input", 0),
    gaudi_ahead("weight", 1),
    gaudi_hybrid("hybrid_input", 0),
    gaudi_hybrid("hybrid_weight", 1),
    gaudi_back(),
});
constexpr Fp8Convention gaudi_conventions[] = {
    {AgeOrder::first_wraps, ScaleMeaning::multiplier, ScaleUse::recomputed, gaudi_rules},
};

/// Of a power of two, unlike NVIDIA's newer releases.
float gaudi_next_scale(float stored, float amax, float fp8_max, float two_to_margin) {
  return amax > 0 ? std::exp2(std::floor(std::log2(fp8_max / amax))) / two_to_margin : stored;
}

/// transformer_engine.cpp finds it.
Matches found_with_nvidias(const Tree&, NodeId, NodeId) {
  return {};
}

}  // namespace

constinit const Dialect transformer_engine_gaudi_state = {
    .name = "transformer_engine_gaudi",
    .kind = "fp8",
    .framework = "Intel Gaudi's TransformerEngine",
    .find_in = found_with_nvidias,
    .telling_word = "amax_history_index_fwd",
    .fp8 = {.conventions = gaudi_conventions, .next_scale = gaudi_next_scale},
};

}  // namespace tare
