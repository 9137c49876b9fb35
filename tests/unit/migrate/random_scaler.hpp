// Scalers of any policy with parameters as users set them, some steps into a run.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string_view>

#include "kernels/rule/policy.hpp"
#include "kernels/rule/running.hpp"

namespace tare {

class RandomScaler {
 public:
  explicit RandomScaler(std::uint32_t seed) : generator_(seed) {}

  rule::RunningState operator()(const rule::PolicySpec& spec) {
    rule::RunningState scaler;
    do {
      scaler.policy = rule::make_policy(spec);
      for (const auto& parameter : spec.parameters) set(scaler.policy.params, parameter);
    } while (!rule::find_fault(spec, scaler.policy.params).empty());
    rule::prepare(scaler.policy);
    scaler.state = rule::initial_state(scaler.policy);
    walk(scaler);
    return scaler;
  }

 private:
  struct Choice {
    std::string_view key;  ///< a role, or a name without one
    std::array<double, 6> values;
  };

  static constexpr auto choices = std::to_array<Choice>({
      {"initial_scale", {65536, 32768, 1024, 16, 1000, 16777216}},
      {"growth_interval", {1, 2, 5, 20, 37, 100}},
      {"growth_factor", {2, 2, 2, 4, 1.5, 1.3}},
      {"backoff_factor", {0.5, 0.5, 0.5, 0.25, 0.8, 0.7}},
      {"hysteresis", {1, 1, 2, 2, 3, 4}},
      {"min_scale", {1, 1, 0.25, 1e-4, 128, 16}},
      {"max_scale", {16777216, 16777216, 65536, 1048576, 4294967296, 33554432}},
      {"tolerance", {0, 0, 0, 0.05, 0.25, 0.5}},
      {"bad_step_max", {1000, 1000, 1000, 5, 20, 1}},
      {"max_scale_window", {1000, 1000, 200, 60, 40, 300}},
      {"min_scale_window", {20, 20, 20, 10, 8, 30}},
      {"loss_scale", {128, 1024, 8, 1, 65536, 3}},
      {"static_loss_scale", {128, 1024, 8, 1, 65536, 3}},
      {"threshold", {1, 0.5, 2, 4, 0.125, 1}},
  });

  /// What a float32 holds; a target that keeps one refuses more.
  static constexpr double most_scale = 0x1p126;

  std::uint32_t pick(std::uint32_t count) { return static_cast<std::uint32_t>(generator_() % count); }

  void set(rule::RuleParams& params, const rule::ParameterSpec& parameter) {
    if (parameter.type == rule::ValueType::boolean) {
      const bool usual = rule::read_parameter(params, parameter).integer != 0;
      rule::write_parameter(params, parameter, rule::boolean_number((pick(6) == 0) != usual));
      return;
    }
    // What may be left out mostly is.
    if (!parameter.unset.empty() && parameter.unset != "null" && pick(8) != 0) return;
    if (parameter.unset == "null" && pick(2) != 0) return;
    for (const Choice& choice : choices) {
      if (choice.key != parameter.role && choice.key != parameter.name) continue;
      rule::write_parameter(params, parameter, rule::real_number(choice.values[pick(6)]));
      return;
    }
  }

  void walk(rule::RunningState& scaler) {
    const std::uint32_t share = 4 + pick(60);
    for (std::uint32_t steps = pick(150); steps > 0; --steps) {
      rule::RunningState next = scaler;
      const bool overflow = pick(share) == 0;
      if (rule::advance(next.policy, next.state, overflow, next.counters).raised != rule::Raised::nothing) return;
      if (rule::scale_of(next.policy.id, next.state) > most_scale) return;
      scaler = next;
    }
  }

  std::mt19937 generator_;
};

}  // namespace tare
