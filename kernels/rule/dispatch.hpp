// One step of any policy, chosen at run time, for host and device alike: a switch over the typed rules, and around them
// what is tare's own and no framework's: an optional floor and ceiling, and counts of what happened.
#pragma once

#include <cfloat>

#include "kernels/rule/all.hpp"

namespace tare::rule {

/// Stored by no file: the policies' names are (policy.hpp).
enum class PolicyId : int32_t {
#define TARE_POLICY(id, params, state) id,
#include "kernels/rule/policies.inc"
};

/// The parameters of one policy; which member is alive the PolicyId tells.
union RuleParams {
  TARE_HD RuleParams() : torch{} {}
#define TARE_PARAMS(type, name) type name;
#include "kernels/rule/policies.inc"
};

/// The state of one policy. Small and trivially copyable: it may live in device memory and be copied as bytes.
union RuleState {
  TARE_HD RuleState() : torch{} {}
#define TARE_STATE(type, name) type name;
#include "kernels/rule/policies.inc"
};

/// Bounds for users who want to stop a collapse or a run to infinity. Off at the infinities: bits are the framework's.
struct Bounds {
  double floor = -__builtin_inf();
  double ceiling = __builtin_inf();
};

/// All that a step needs besides the state.
struct Policy {
  PolicyId id = PolicyId::torch;
  RuleParams params;
  Bounds bounds;
};

/// What a scaler has gone through.
struct Counters {
  int64_t steps = 0;
  int64_t skipped = 0;
  int64_t growths = 0;   // steps that ended with a greater scale
  int64_t backoffs = 0;  // steps that ended with a smaller one
};

/// How an update went; the state is in the caller's hands.
struct Stepped {
  Raised raised;
  bool skip;
};

template <auto ParamsMember, auto StateMember>
struct Slot {};

/// Calls `visitor` with the Slot of the policy's union members.
template <class Visitor>
TARE_HD inline auto visit(PolicyId id, const Visitor& visitor) {
  switch (id) {
    default:  // there are no others
#define TARE_POLICY(id, params, state) \
  case PolicyId::id:                   \
    return visitor(Slot<&RuleParams::params, &RuleState::state>{});
#include "kernels/rule/policies.inc"
  }
}

namespace detail {

TARE_HD inline double read_scale(float scale) {
  return scale;
}
TARE_HD inline double read_scale(double scale) {
  return scale;
}
TARE_HD inline double read_scale(const Number& scale) {
  return value_of(scale);
}

TARE_HD inline void write_scale(float& scale, double value) {
  scale = static_cast<float>(value);
}
TARE_HD inline void write_scale(double& scale, double value) {
  scale = value;
}
TARE_HD inline void write_scale(Number& scale, double value) {
  scale = real_number(value);
}

/// Puts in a scale that the policy can hold.
template <class State>
TARE_HD inline void replace_scale(State& state, double value) {
  write_scale(state.scale, value);
}
/// What layers before put on stays on.
TARE_HD inline void replace_scale(LayerwiseState& state, double value) {
  const float before = state.scale == 0.0f ? 1.0f : state.accumulated / state.scale;
  state.scale = static_cast<float>(value);
  state.accumulated = widen<F16>(narrow<F16>(state.scale * before));
}

/// A float as the policy can hold it.
template <class Params>
TARE_HD inline double held(const Params&, double value) {
  return value;
}
TARE_HD inline double held(const JmpParams& params, double value) {
  return jmp_rounded(static_cast<float>(value), params.dtype);
}
TARE_HD inline double held(const LayerwiseParams&, double value) {
  return widen<F16>(narrow<F16>(static_cast<float>(value)));
}

struct Initial {
  const RuleParams& params;
  template <auto ParamsMember, auto StateMember>
  TARE_HD RuleState operator()(Slot<ParamsMember, StateMember>) const {
    RuleState state;
    state.*StateMember = initial(params.*ParamsMember);
    return state;
  }
};

struct Next {
  const RuleParams& params;
  const RuleState& state;
  bool overflow;
  template <auto ParamsMember, auto StateMember>
  TARE_HD Outcome<RuleState> operator()(Slot<ParamsMember, StateMember>) const {
    const auto outcome = next(state.*StateMember, params.*ParamsMember, overflow);
    RuleState after;
    after.*StateMember = outcome.state;
    return {after, outcome.raised, outcome.skip};
  }
};

struct ReadScale {
  const RuleState& state;
  template <auto ParamsMember, auto StateMember>
  TARE_HD double operator()(Slot<ParamsMember, StateMember>) const {
    return read_scale((state.*StateMember).scale);
  }
};

/// Whether a finite scale stays finite in the policy's type. A float refuses all beyond its largest, as torch does.
struct HoldsScale {
  const RuleParams& params;
  double value;
  template <auto ParamsMember, auto StateMember>
  TARE_HD bool operator()(Slot<ParamsMember, StateMember>) const {
    const RuleState state;
    const bool single = sizeof((state.*StateMember).scale) == sizeof(float);
    if (single && (value > FLT_MAX || value < -FLT_MAX)) return false;
    return is_finite(held(params.*ParamsMember, value));
  }
};

struct WriteScale {
  const RuleParams& params;
  RuleState& state;
  double value;
  template <auto ParamsMember, auto StateMember>
  TARE_HD void operator()(Slot<ParamsMember, StateMember>) const {
    replace_scale(state.*StateMember, held(params.*ParamsMember, value));
  }
};

struct Bound {
  const Policy& policy;
  RuleState& state;
  template <auto ParamsMember, auto StateMember>
  TARE_HD void operator()(Slot<ParamsMember, StateMember>) const {
    auto& own = state.*StateMember;
    const double value = read_scale(own.scale);
    if (value < policy.bounds.floor) replace_scale(own, held(policy.params.*ParamsMember, policy.bounds.floor));
    if (value > policy.bounds.ceiling) replace_scale(own, held(policy.params.*ParamsMember, policy.bounds.ceiling));
  }
};

/// Works on the typed state where it lies: copying whole unions costs more than a rule does. `Seen`: bool (overflow),
/// or the statistics of a layer.
template <class Seen>
struct Advance {
  const Policy& policy;
  RuleState& state;
  const Seen& seen;
  Counters& counters;
  template <auto ParamsMember, auto StateMember>
  TARE_HD Stepped operator()(Slot<ParamsMember, StateMember> slot) const {
    auto& own = state.*StateMember;
    const double before = read_scale(own.scale);
    const auto outcome = next(own, policy.params.*ParamsMember, seen);
    own = outcome.state;
    if (outcome.raised == Raised::nothing) Bound{policy, state}(slot);
    const double after = read_scale(own.scale);
    counters.steps += 1;
    counters.skipped += outcome.skip ? 1 : 0;
    counters.growths += after > before ? 1 : 0;
    counters.backoffs += after < before ? 1 : 0;
    return {outcome.raised, outcome.skip};
  }
};

}  // namespace detail

/// The state of a fresh scaler, without the bounds.
TARE_HD inline RuleState initial_state(const Policy& policy) {
  return visit(policy.id, detail::Initial{policy.params});
}

/// The framework's rule, untouched.
TARE_HD inline Outcome<RuleState> next(const Policy& policy, const RuleState& state, bool overflow) {
  return visit(policy.id, detail::Next{policy.params, state, overflow});
}

/// The scale: exact, whether the framework keeps a float, a double or a Python int.
TARE_HD inline double scale_of(PolicyId id, const RuleState& state) {
  return visit(id, detail::ReadScale{state});
}

/// What gradients have been multiplied by: the scale, or a layer's and those of the layers before.
TARE_HD inline double gradient_scale_of(PolicyId id, const RuleState& state) {
  return id == PolicyId::layerwise ? state.layerwise.accumulated : scale_of(id, state);
}

/// What unscaling multiplies by: 1 / scale in double, rounded once to float.
TARE_HD inline float inverse_of(double scale) {
  return static_cast<float>(1.0 / scale);
}

/// Puts a new scale in, rounded to what the policy holds, and leaves every other field alone (but layerwise's
/// accumulated scale, which it is part of).
TARE_HD inline Outcome<RuleState> with_scale(const Policy& policy, RuleState state, double scale) {
  if (policy.id == PolicyId::megatron_none) return {state, Raised::no_scaler};
  if (is_finite(scale) && !visit(policy.id, detail::HoldsScale{policy.params, scale})) {
    return {state, Raised::scale_too_large};
  }
  visit(policy.id, detail::WriteScale{policy.params, state, scale});
  return {state};
}

/// The state with its scale inside the bounds; nan is left alone.
TARE_HD inline RuleState bounded(const Policy& policy, RuleState state) {
  visit(policy.id, detail::Bound{policy, state});
  return state;
}

/// One update of a scaler, in place: the rule, then the bounds (not where the rule raised), counted.
TARE_HD inline Stepped advance(const Policy& policy, RuleState& state, bool overflow, Counters& counters) {
  return visit(policy.id, detail::Advance<bool>{policy, state, overflow, counters});
}

/// The same for a layer, whose statistics drive it. REQUIRES: the policy is layerwise.
TARE_HD inline Stepped advance(const Policy& policy, RuleState& state, const LayerStatistics& seen,
                               Counters& counters) {
  const detail::Advance<LayerStatistics> advance{policy, state, seen, counters};
  return advance(Slot<&RuleParams::layerwise, &RuleState::layerwise>{});
}

}  // namespace tare::rule
