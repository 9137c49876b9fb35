// The rules by number, and what casting has to know of each.
#pragma once

#include "kernels/fp8/current.hpp"
#include "kernels/fp8/flax.hpp"
#include "kernels/fp8/fp8_lm.hpp"
#include "kernels/fp8/msamp.hpp"
#include "kernels/fp8/torchao.hpp"
#include "kernels/fp8/transformer_engine.hpp"

namespace tare::kernels::fp8 {

/// `fixed`: a scale that never moves.
enum class Rule : std::int32_t {
  transformer_engine,
  current,
  msamp,
  flax,
  fixed,
  fp8_lm,
  torchao_delayed,
  torchao_dynamic
};

struct Params {
  Rule rule = Rule::transformer_engine;
  TransformerEngineParams transformer_engine;
  CurrentParams current;
  MsampParams msamp;
  FlaxParams flax;
  Fp8LmParams fp8_lm;
  TorchaoParams torchao;
};

/// Whether the rule's scale is what values are divided by, with one rounding of the quotient.
TARE_HD constexpr bool divides(Rule rule) {
  return rule == Rule::flax;
}

/// Whether a step comes after the casts that it learns from. Others are told the amax first, step, and then cast.
TARE_HD constexpr bool learns_from_casts(Rule rule) {
  return rule != Rule::current && rule != Rule::flax && rule != Rule::torchao_dynamic;
}

/// An amax as it is compared: TransformerEngine's kernels do not see a NaN.
TARE_HD inline std::uint32_t key_of(const Params& params, std::uint32_t bits) {
  const bool blind = params.rule == Rule::transformer_engine && params.transformer_engine.variant != TeVariant::unfused;
  return blind && bits > 0x7f800000u ? 0 : bits;
}

/// The new scale from the amax that the rule looks at.
TARE_HD inline float next_scale(const Params& params, float scale, float amax, float fp8_max) {
  switch (params.rule) {
    case Rule::transformer_engine:
      return next_scale(params.transformer_engine, scale, amax, fp8_max);
    case Rule::current:
      return current_scale(params.current, amax, fp8_max);
    case Rule::msamp:
      return next_scale(params.msamp, scale, amax, fp8_max);
    case Rule::flax:
      return next_scale(params.flax, scale, amax, fp8_max);
    case Rule::torchao_delayed:
    case Rule::torchao_dynamic:
      return torchao_scale(params.torchao, amax, fp8_max);
    case Rule::fixed:
    case Rule::fp8_lm:  // its scale is mu
      break;
  }
  return scale;
}

}  // namespace tare::kernels::fp8
