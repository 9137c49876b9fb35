// What a scaler does between passes, for host and device: the accumulators, the step of the rule, and the values that
// callers hold pointers to. A CUDA scaler keeps one ScalerCore in device memory and works on it there.
#pragma once

#include <cmath>

#include "kernels/element.hpp"
#include "kernels/rank_record.hpp"
#include "kernels/rule/running.hpp"
#include "kernels/statistics.hpp"

namespace tare::kernels {

/// What callers may keep pointers to.
struct ShownValues {
  float scale = 1;
  float inverse_scale = 1;
  float found_inf = 0;
  std::int32_t noop = 0;
  float multiplier = 1;
};

struct ScalerCore {
  ShownValues shown;
  std::int32_t checked = 0;         ///< whether anything was looked at or reported since the last update
  std::int32_t layer_reported = 0;  ///< whether `layer` is of this step
  rule::LayerStatistics layer{};    ///< what policy layerwise goes by
  rule::RunningState running;
  Statistics accumulated;                       ///< since the last update
  Statistics last_step;                         ///< what the last update had
  rule::Raised raised = rule::Raised::nothing;  ///< the first that nobody has been told of
  Parting parting;                              ///< likewise, of a GPU; the CPU tells at once
};

/// What a prepared list shows of its own last pass.
struct ListCore {
  ShownValues shown;  ///< but for scale and inverse scale, which are the scaler's
  Statistics seen;
  float coefficient = 1;  ///< of clipping by norm
};

/// How a scaler of somebody else's stands: its scale, and how many steps it has made, skipped, grown and fallen at.
struct ScalerStanding {
  float scale = 1;
  std::int64_t steps = 0;
  std::int64_t skipped = 0;
  std::int64_t growths = 0;
  std::int64_t backoffs = 0;
};

/// Where such numbers lie in the memory of a device; null: as in `known`.
struct ScalerPlaces {
  const float* scale = nullptr;
  const std::int64_t* skipped = nullptr;
  const std::int64_t* growths = nullptr;
  const std::int64_t* backoffs = nullptr;
  ScalerStanding known;
};

TARE_HD inline void show_scale(ScalerCore& core) {
  const double scale = rule::scale_of(core.running.policy.id, core.running.state);
  core.shown.scale = static_cast<float>(scale);
  core.shown.inverse_scale = rule::inverse_of(rule::gradient_scale_of(core.running.policy.id, core.running.state));
  core.shown.multiplier = core.shown.inverse_scale;
}

TARE_HD inline void clear_accumulated(ScalerCore& core) {
  core.accumulated = {};
  core.shown.found_inf = 0;
  core.shown.noop = 0;
  core.checked = 0;
  core.layer_reported = 0;
}

/// Found-inf may have been reduced with that of other ranks: what is shown beside it says the same.
TARE_HD inline void follow_reduced(ScalerCore& core) {
  core.shown.noop = core.shown.found_inf != 0 ? 1 : 0;  // nan counts
}

/// Likewise for a list: which one had it on another rank, nobody knows.
TARE_HD inline void follow_reduced(ListCore& list, const ScalerCore& core) {
  if (core.shown.found_inf == 0) return;
  list.shown.found_inf = 1;
  list.shown.noop = 1;
}

/// Of a list found-inf was reduced alone: its noop says the same, and its scaler takes it in.
TARE_HD inline void take_reduced(ScalerCore& core, ListCore& list) {
  list.shown.noop = list.shown.found_inf != 0 ? 1 : 0;  // nan counts
  if (list.shown.noop != 0) core.shown.found_inf = 1;
  follow_reduced(core);
}

/// Takes in what a pass found, or a caller's own check.
TARE_HD inline void add_findings(ScalerCore& core, const Statistics& seen, bool found_inf) {
  merge(core.accumulated, seen);
  core.checked = 1;
  if (found_inf) core.shown.found_inf = 1;
  follow_reduced(core);
}

/// Takes in what the next step of a layer goes by. REQUIRES: the policy is layerwise.
TARE_HD inline void add_layer(ScalerCore& core, const rule::LayerStatistics& layer) {
  core.layer = layer;
  core.layer_reported = 1;
  core.checked = 1;
}

/// What this rank tells of a pass or a report. `call` and `values`: as record_of has them.
TARE_HD inline RankRecord record_of(std::int32_t call, const ScalerCore& core, std::uint64_t values,
                                    const Statistics& seen, bool found_inf) {
  const rule::RunningState& running = core.running;
  const double scale = rule::scale_of(running.policy.id, running.state);
  return record_of(call, running.counters.steps, scale, values, seen, found_inf);
}

/// One step of the rule with what was accumulated, which is then cleared; tells why the rule raised.
TARE_HD inline rule::Raised step(ScalerCore& core) {
  const bool overflow = core.shown.found_inf != 0;  // nan counts
  rule::RunningState& running = core.running;
  if (core.checked == 0 && !overflow && running.policy.id == rule::PolicyId::torch) {
    return rule::Raised::no_inf_checks;
  }
  const rule::Stepped stepped = core.layer_reported != 0
                                    ? rule::advance(running.policy, running.state, core.layer, running.counters)
                                    : rule::advance(running.policy, running.state, overflow, running.counters);
  show_scale(core);
  core.last_step = core.accumulated;
  clear_accumulated(core);
  return stepped.raised;
}

/// What torch's GradScaler keeps of its state, in a caller's memory; found_inf is read.
struct TorchPlaces {
  float* scale = nullptr;
  std::int32_t* growth_tracker = nullptr;
  const float* found_inf = nullptr;
};

/// torch._amp_update_scale_: the rule of a scaler of policy torch on a state that lies elsewhere; its own stays.
TARE_HD inline void step_elsewhere(const ScalerCore& core, const TorchPlaces& places) {
  const rule::TorchState before{*places.scale, *places.growth_tracker};
  const auto outcome = rule::next(before, core.running.policy.params.torch, *places.found_inf != 0);  // nan counts
  *places.scale = outcome.state.scale;
  *places.growth_tracker = outcome.state.growth_tracker;
}

TARE_HD inline rule::Raised put_scale(ScalerCore& core, double scale) {
  const auto outcome = rule::with_scale(core.running.policy, core.running.state, scale);
  if (outcome.raised != rule::Raised::nothing) return outcome.raised;
  core.running.state = rule::bounded(core.running.policy, outcome.state);
  show_scale(core);
  return outcome.raised;
}

/// Goes on from another state.
TARE_HD inline void take_over(ScalerCore& core, const rule::RunningState& running) {
  core.running = running;
  show_scale(core);
  clear_accumulated(core);
  core.last_step = {};
}

/// As torch's clip_grad_norm_ computes it; nan stays nan, the host's on every device.
TARE_HD inline float clip_coefficient(double clip_norm, double norm) {
  constexpr double torch_epsilon = 1e-6;
  if (is_nan(norm)) return cuda::narrowed(norm);
  const double coefficient = clip_norm / (norm + torch_epsilon);
  if (is_nan(coefficient)) return cuda::new_nan(0.0f);
  return static_cast<float>(coefficient > 1.0 ? 1.0 : coefficient);
}

/// What a list shows after a pass. `unscaling`: what unscaling multiplies the values read by (1: they are unscaled
/// already); `clip_norm` above 0: clipped by that norm.
TARE_HD inline void note_findings(ListCore& list, const Statistics& seen, float unscaling, double clip_norm) {
  const bool found_inf = !is_finite(seen.max_abs);
  list.seen = seen;
  list.shown.found_inf = found_inf ? 1.0f : 0.0f;
  list.shown.noop = found_inf ? 1 : 0;
  list.coefficient = 1;
  if (clip_norm > 0) {
    const double sum = seen.sum_of_squares;
    const double norm = is_nan(sum) ? sum : cuda::product(sqrt(sum), cuda::widened(unscaling));
    list.coefficient = clip_coefficient(clip_norm, norm);
  }
  list.shown.multiplier = cuda::product(unscaling, list.coefficient);
}

}  // namespace tare::kernels
