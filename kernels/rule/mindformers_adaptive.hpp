// mindformers' AdaptiveLossScaleUpdateCell: MindSpore's rule with a window that climbs a list.
// mindformers 2.1.0: mindformers/wrapper/adaptive_loss_scale.py.
//
// The scale follows mindspore.hpp under the current window. The window: three growths climb one level; three overflows
// without a growth between them drop from any level above 0 to the hidden window 1 (list_index -1), from where three
// growths lead to level 0.
//
//   this step | list_index      | counts                                   | window
//   growth    | -               | up = (up + 1) mod 4, down = 0            | see next row
//   any       | not last, up 3  | up = 0, list_index + 1                   | list[list_index]
//   overflow  | -               | down = (down + 1) mod 4                  | see next row
//   overflow  | > 0, down 3     | up = down = 0, list_index = -1           | 1
//
// At the last level `up` stays at 3 until it wraps, at level 0 and -1 so does `down`.
//
// The rule as its authors describe it (variant "paper") is another one: of 200 random runs 188 part.
//
//                          | the code                              | the paper
//   starts at              | the level of scale_window             | the first level
//   max below min          | refused                               | max is 1000
//   three overflows        | from levels above 0; forget growths   | from every level, 0 and -1 too; growths stay
//   counted counts at 3            | go on to 0 where nothing moves        | 0
#pragma once

#include "kernels/rule/mindspore.hpp"

namespace tare::rule {

/// Ascending windows. A minimum of 1 with half steps below 100 makes the longest list, some 220 levels.
struct WindowList {
  static constexpr int32_t capacity = 256;
  int32_t count = 0;
  int32_t values[capacity] = {};
};

struct MindformersAdaptiveParams {
  double loss_scale_value = 65536.0;
  double scale_factor = 2.0;
  int32_t scale_window = 0;  // 0: the list's first. mindformers has no default
  int32_t max_scale_window = 1000;
  int32_t min_scale_window = 20;
  WindowList window_list;  // empty: as max and min give it
};

/// Of the rule as its authors describe it; scale_window has no meaning there.
struct MindformersAdaptivePaperParams : MindformersAdaptiveParams {};

struct MindformersAdaptiveState {
  float scale = 65536.0f;
  int32_t scale_window = 20;
  int32_t list_index = 0;
  int32_t scale_window_up_count = 0;
  int32_t scale_window_down_count = 0;
  int32_t current_iterator_step = 1;
  int32_t last_overflow_iterator_step = 0;
};

/// The levels between two windows: hundreds halve to whole hundreds, below 100 half the minimum is taken off each time.
/// (100..199 as maximum gives a level 0, an uneven minimum one below it: so does mindformers.)
TARE_HD inline WindowList window_levels(int32_t max_window, int32_t min_window) {
  WindowList list;
  double window = max_window;
  list.values[list.count++] = max_window;
  while (window > min_window && list.count < WindowList::capacity) {
    if (window > 100) {
      window = static_cast<double>(static_cast<int32_t>(window / 2 / 100)) * 100;
    } else if (window == 100) {
      window /= 2;
    } else {
      window -= min_window / 2.0;
    }
    list.values[list.count++] = static_cast<int32_t>(window);
  }
  for (int32_t low = 0, high = list.count - 1; low < high; ++low, --high) {
    const int32_t kept = list.values[low];
    list.values[low] = list.values[high];
    list.values[high] = kept;
  }
  return list;
}

TARE_HD inline WindowList window_list_of(const MindformersAdaptiveParams& params) {
  if (params.window_list.count > 0) return params.window_list;
  return window_levels(params.max_scale_window, params.min_scale_window);
}

TARE_HD inline WindowList window_list_of(const MindformersAdaptivePaperParams& params) {
  if (params.window_list.count > 0) return params.window_list;
  constexpr int32_t usual_max = 1000;
  const bool is_below = params.max_scale_window < params.min_scale_window;
  return window_levels(is_below ? usual_max : params.max_scale_window, params.min_scale_window);
}

/// Where three overflows without a growth between them lead.
constexpr int32_t hidden_level = -1;
constexpr int32_t hidden_window = 1;

/// Starts at the level of scale_window, or at level 0 when it is not given or the list has no such window.
TARE_HD inline MindformersAdaptiveState initial(const MindformersAdaptiveParams& params) {
  const WindowList list = window_list_of(params);
  int32_t level = 0;
  while (level < list.count && list.values[level] != params.scale_window) ++level;
  if (level == list.count) level = 0;
  return {static_cast<float>(params.loss_scale_value), list.values[level], level, 0, 0, 1, 0};
}

TARE_HD inline MindformersAdaptiveState initial(const MindformersAdaptivePaperParams& params) {
  return {static_cast<float>(params.loss_scale_value), window_list_of(params).values[0], 0, 0, 0, 1, 0};
}

/// The scale's step under the state's window; true in `grew` when it grew.
TARE_HD inline MindformersAdaptiveState adaptive_scale_step(MindformersAdaptiveState state, double factor,
                                                            bool overflow, bool* grew) {
  const MindsporeState before{state.scale, state.current_iterator_step, state.last_overflow_iterator_step};
  const MindsporeState after = mindspore_step(before, static_cast<float>(factor), state.scale_window, overflow, grew);
  state.scale = after.scale;
  state.current_iterator_step = after.current_iterator_step;
  state.last_overflow_iterator_step = after.last_overflow_iterator_step;
  return state;
}

/// REQUIRES: params.window_list filled (see window_list_of), so that no step has to build it.
TARE_HD inline Outcome<MindformersAdaptiveState> next(MindformersAdaptiveState state,
                                                      const MindformersAdaptiveParams& params, bool overflow) {
  bool grew = false;
  state = adaptive_scale_step(state, params.scale_factor, overflow, &grew);
  if (grew) {
    state.scale_window_up_count = floor_modulo(wrapping_add(state.scale_window_up_count, 1), 4);
    state.scale_window_down_count = 0;
  }
  if (state.scale_window_up_count == 3 && state.list_index != params.window_list.count - 1) {
    state.list_index = wrapping_add(state.list_index, 1);
    state.scale_window_up_count = 0;
    if (state.list_index < 0 || state.list_index >= params.window_list.count) {
      return {state, Raised::window_outside_list, true};
    }
    state.scale_window = params.window_list.values[state.list_index];
  }
  if (overflow) {
    state.scale_window_down_count = floor_modulo(wrapping_add(state.scale_window_down_count, 1), 4);
    if (state.scale_window_down_count == 3 && state.list_index != hidden_level && state.list_index != 0) {
      state.scale_window = hidden_window;
      state.list_index = hidden_level;
      state.scale_window_down_count = 0;
      state.scale_window_up_count = 0;
    }
  }
  return {state, Raised::nothing, overflow};
}

/// REQUIRES: params.window_list filled (see window_list_of).
TARE_HD inline Outcome<MindformersAdaptiveState> next(MindformersAdaptiveState state,
                                                      const MindformersAdaptivePaperParams& params, bool overflow) {
  bool grew = false;
  state = adaptive_scale_step(state, params.scale_factor, overflow, &grew);
  if (grew) {
    state.scale_window_up_count = wrapping_add(state.scale_window_up_count, 1);
    state.scale_window_down_count = 0;
  }
  if (state.scale_window_up_count >= 3) {
    state.scale_window_up_count = 0;
    const bool is_last = state.list_index >= params.window_list.count - 1;
    if (!is_last) state.list_index = wrapping_add(state.list_index, 1);
    if (state.list_index < 0 || state.list_index >= params.window_list.count) {
      return {state, Raised::window_outside_list, true};
    }
    if (!is_last) state.scale_window = params.window_list.values[state.list_index];
  }
  if (overflow) state.scale_window_down_count = wrapping_add(state.scale_window_down_count, 1);
  if (state.scale_window_down_count >= 3) {
    state.scale_window_down_count = 0;
    state.scale_window = hidden_window;
    state.list_index = hidden_level;
  }
  return {state, Raised::nothing, overflow};
}

}  // namespace tare::rule
