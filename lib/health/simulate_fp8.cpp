#include "lib/health/simulate_fp8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/fp8/host_slots.hpp"
#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/base/whole_number.hpp"
#include "lib/state/fp8_set.hpp"

namespace tare {
namespace {

using kernels::fp8::HostSlots;
using kernels::fp8::Slots;

/// Puts a parameter in, by name or role.
void tell(Fp8Recipe& recipe, std::string_view key, const StateValue& value) {
  const Fp8ParameterSpec* parameter = find_parameter(*recipe.policy, key);
  if (parameter == nullptr) {
    throw Error(Status::invalid_argument, fmt::format("{} has no {}", recipe.policy->name, escaped(key)),
                fmt::format("its parameters: {}", parameter_names(*recipe.policy)));
  }
  Fp8Set set = without_slots(*recipe.policy);
  set.parameters = recipe.parameters;
  try {
    assign(set, parameter->name, value);
  } catch (const Error& error) {
    throw Error(Status::invalid_argument, error.what());
  }
  recipe.parameters = set.parameters;
  recipe.told.emplace_back(parameter->name, value);
}

StateValue value_of(double number) {
  const auto whole = whole_number(number);
  return whole ? StateValue(*whole) : StateValue(number);
}
StateValue value_of(const std::string& word) {
  return word;
}

/// Every value of `values` in every recipe; without values, the recipes as they are.
void multiply(std::vector<Fp8Recipe>& recipes, std::string_view key, const auto& values) {
  if (values.empty()) return;
  std::vector<Fp8Recipe> all;
  for (const Fp8Recipe& recipe : recipes) {
    for (const auto& value : values) {
      all.push_back(recipe);
      tell(all.back(), key, value_of(value));
    }
  }
  recipes = std::move(all);
}

/// The sums of the casts that stay within.
struct Unused {
  double sum = 0;
  std::uint64_t count = 0;
};

/// One tensor's cast with the scale that it has by then.
class Casts {
 public:
  explicit Casts(std::span<const Amaxes> tensors) : tensors_(tensors), has_saturated_(tensors.size()) {}

  void add(std::size_t tensor, float amax, double multiplier) {
    if (!std::isfinite(amax)) {
      ++done_.not_finite;
      return;
    }
    if (amax == 0) return;
    ++done_.casts;
    constexpr double rounding = 0x1p-21;  // a quotient's and a product's, in float
    const double beyond = std::log2(static_cast<double>(amax) * multiplier / tensors_[tensor].format_max);
    if (beyond > rounding) return saturate(tensor, beyond);
    unused_.sum += std::max(-beyond, 0.0);
    ++unused_.count;
    if (-beyond <= done_.most_unused) return;
    done_.most_unused = -beyond;
    if (done_.saturated == 0) done_.worst = tensor;
  }

  SimulatedCasts done() {
    done_.saturated_tensors = static_cast<std::uint64_t>(std::ranges::count(has_saturated_, true));
    done_.mean_unused = unused_.count == 0 ? 0 : unused_.sum / static_cast<double>(unused_.count);
    return done_;
  }

 private:
  void saturate(std::size_t tensor, double beyond) {
    ++done_.saturated;
    has_saturated_[tensor] = true;
    if (beyond <= done_.most_beyond) return;
    done_.most_beyond = beyond;
    done_.worst = tensor;
  }

  std::span<const Amaxes> tensors_;
  std::vector<bool> has_saturated_;
  SimulatedCasts done_;
  Unused unused_;
};

/// Every tensor's step `step`, where it has one.
void cast_all(std::span<const Amaxes> tensors, std::size_t step, const Slots& slots, Casts& casts) {
  const bool divides = kernels::fp8::divides(slots.params.rule);
  for (std::size_t i = 0; step > 0 && i < tensors.size(); ++i) {
    if (step >= tensors[i].values.size()) continue;
    const double scale = slots.scale[i];
    casts.add(i, tensors[i].values[step], divides ? 1 / scale : scale);
  }
}

}  // namespace

std::vector<Fp8Recipe> recipes_of(const Fp8Sweep& sweep) {
  if (sweep.policy->rule == kernels::fp8::Rule::fp8_lm) {
    throw Error(Status::invalid_argument,
                fmt::format("{} goes by how many values reach the largest, which no amax tells", sweep.policy->name));
  }
  std::vector<Fp8Recipe> recipes = {{sweep.policy, default_parameters(*sweep.policy), {}}};
  for (const auto& [key, value] : sweep.parameters) tell(recipes.front(), key, value);
  multiply(recipes, "history_length", sweep.history_lengths);
  multiply(recipes, "amax_compute_algo", sweep.algorithms);
  multiply(recipes, "margin", sweep.margins);
  return recipes;
}

SimulatedCasts simulate(const Fp8Recipe& recipe, std::span<const Amaxes> tensors) {
  std::vector<float> largest;
  std::size_t longest = 0;
  for (const Amaxes& tensor : tensors) {
    largest.push_back(tensor.format_max);
    longest = std::max(longest, tensor.values.size());
  }
  HostSlots host(kernel_params(*recipe.policy, recipe.parameters), window_shape(*recipe.policy, recipe.parameters),
                 largest);
  for (std::uint32_t i = 0; i < host.count(); ++i) {
    host.set_scale(i, static_cast<float>(recipe.parameters.initial_scale));
  }
  const Slots& slots = host.arrays();
  const bool casts_first = kernels::fp8::learns_from_casts(slots.params.rule);
  Casts casts(tensors);
  for (std::size_t step = 0; step < longest; ++step) {
    if (casts_first) cast_all(tensors, step, slots, casts);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      slots.amax[i] = step < tensors[i].values.size() ? bits_of(tensors[i].values[step]) : 0;
    }
    host.step();
    if (!casts_first) cast_all(tensors, step, slots, casts);
  }
  return casts.done();
}

Fp8Simulation simulation_of(std::vector<std::string> targets, std::vector<Amaxes> tensors, const Fp8Sweep& sweep) {
  Fp8Simulation answer{std::move(targets), std::move(tensors), {}};
  std::vector<Fp8Recipe> recipes = recipes_of(sweep);
  if (answer.tensors.empty()) {
    throw Error(Status::not_found, "there is no amax in it: no FP8 state with a history that is filled",
                "name the series of amaxes that was logged: --amax SERIES");
  }
  for (Fp8Recipe& recipe : recipes) {
    const SimulatedCasts casts = simulate(recipe, answer.tensors);
    answer.runs.emplace_back(std::move(recipe), casts);
  }
  return answer;
}

}  // namespace tare
