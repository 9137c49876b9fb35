// Adaptive (layer-wise) loss scaling, arXiv 1910.12385: kumasento/gradient-scaling, ada_loss/core.py and
// ada_loss/chainer_impl/ada_loss_chainer.py, method "approx_range", float16.
//
// Each layer gets a scale of its own from statistics of the gradient that comes into it and of its weights, not from
// overflows. With s the deviation that the products of gradient and weight have, and t = sqrt(2)
// erfinv(n_uf_threshold):
//
//   s == 0                  | 1
//   otherwise               | u_min / (t s): lifts all but that share of the products above the smallest float16
//   ... but                 | at least 1, at most u_max / fan_in / largest product, accum_upper_bound / what the layers
//                           | before put on, scale_upper_bound; with power_of_two, down to a power of two
//   the result is not finite | raises
//
// Statistics are float32, what follows them double, as NumPy 1 computes it. An update without statistics holds the
// scale.
#pragma once

#include <cmath>

#include "kernels/rule/arithmetic.hpp"
#include "kernels/rule/outcome.hpp"

namespace tare::rule {

struct LayerwiseParams {
  bool power_of_two = true;
  double scale_upper_bound = 16.0;
  double accum_upper_bound = 1024.0;
  double n_uf_threshold = 1e-3;
  double u_min = 6.0e-8;
  double u_max = 65504.0;
  int64_t update_per_n_iteration = 1;
  double quantile = 0.0012533144654325544;  // t above: derived, see layerwise_quantile()
};

struct LayerwiseState {
  float scale = 1.0f;        // what this layer multiplies its gradient by: a float16 value
  float accumulated = 1.0f;  // this scale times those of the layers before (nearer the loss): a float16 value
  float unbound = 1.0f;      // the last estimate, before its upper bounds
  int64_t cur_iter = 0;
};

/// What one layer's update looks at.
struct LayerStatistics {
  float gradient_mean, gradient_deviation;  // of the gradient that comes in, still scaled
  float weight_mean, weight_deviation;
  float largest_product;  // max |g w| over the four products of both extremes
  double fan_in;          // W.shape[0], times the kernel's height and width
  double prev_scale;      // accumulated scale of the gradient that comes in
};

TARE_HD inline LayerwiseState initial(const LayerwiseParams&) {
  return {};
}

/// sqrt(2) erfinv(threshold) by bisection, to the last bits of a double. REQUIRES: 0 < threshold < 1.
TARE_HD inline double layerwise_quantile(double threshold) {
  double low = 0.0;
  double high = 6.0;
  for (int i = 0; i < 200; ++i) {
    const double middle = 0.5 * (low + high);
    (erf(middle) < threshold ? low : high) = middle;
  }
  return high * 1.4142135623730951;
}

TARE_HD inline double second_moment(double mean, double deviation) {
  return deviation * deviation + mean * mean;
}

TARE_HD inline float layerwise_estimate(const LayerwiseParams& params, const LayerStatistics& seen) {
  const double gradient = second_moment(seen.gradient_mean, seen.gradient_deviation);
  const double weight = second_moment(seen.weight_mean, seen.weight_deviation);
  const float deviation = static_cast<float>(sqrt(gradient * weight));
  if (deviation == 0.0f) return 1.0f;
  const double summed = static_cast<double>(deviation) * sqrt(0.5 * seen.fan_in);
  const double lifted = static_cast<double>(static_cast<float>(params.u_min)) / (params.quantile * summed);
  const double upper = static_cast<double>(static_cast<float>(params.u_max)) / seen.fan_in / seen.largest_product;
  return static_cast<float>(minimum(maximum(lifted, 1.0), upper));
}

/// The power of two at or below `value`, with the logarithm rounded to float first as NumPy does.
TARE_HD inline float power_of_two_below(float value) {
  if (!(value > 0.0f)) return 0.0f;
  const float exponent = floorf(static_cast<float>(log2(static_cast<double>(value))));
  return static_cast<float>(ldexp(1.0, static_cast<int>(exponent)));
}

TARE_HD inline Outcome<LayerwiseState> next(LayerwiseState state, const LayerwiseParams& params,
                                            const LayerStatistics& seen) {
  if (params.update_per_n_iteration == 0) return {state, Raised::division_by_zero, true};
  if (floor_modulo(state.cur_iter, params.update_per_n_iteration) == 0)
    state.unbound = layerwise_estimate(params, seen);
  state.cur_iter = wrapping_add<int64_t>(state.cur_iter, 1);
  if (!is_finite(state.unbound)) return {state, Raised::invalid_scale, true};
  const double accumulable = static_cast<double>(static_cast<float>(params.accum_upper_bound)) / seen.prev_scale;
  const double bound = minimum(accumulable, static_cast<double>(state.unbound));
  float scale = minimum(static_cast<float>(params.scale_upper_bound), static_cast<float>(bound));
  if (params.power_of_two) scale = power_of_two_below(scale);
  state.scale = widen<F16>(narrow<F16>(scale));
  const float before = widen<F16>(narrow<F16>(static_cast<float>(seen.prev_scale)));
  state.accumulated = widen<F16>(narrow<F16>(state.scale * before));
  return {state, is_finite(state.accumulated) ? Raised::nothing : Raised::invalid_scale, false};
}

TARE_HD inline Outcome<LayerwiseState> next(const LayerwiseState& state, const LayerwiseParams&, bool overflow) {
  return {state, Raised::nothing, overflow};
}

}  // namespace tare::rule
