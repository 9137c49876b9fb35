// What other recipes of FP8 would have done with amaxes that were recorded: how often a tensor's greatest value would
// have been beyond the format, and how much of the format's range would have stayed unused.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/health/amaxes.hpp"
#include "lib/state/fp8_policy.hpp"
#include "lib/state/value.hpp"

namespace tare {

/// What is to be tried; every combination is one recipe. An empty list: the framework's default.
struct Fp8Sweep {
  const Fp8PolicySpec* policy = nullptr;
  std::vector<double> history_lengths = {}, margins = {};
  std::vector<std::string> algorithms = {};  ///< "max", "most_recent"
  StateSection parameters = {};              ///< further ones, by name or role, the same in all recipes
};

/// A recipe, and what it was told beyond its defaults.
struct Fp8Recipe {
  const Fp8PolicySpec* policy = nullptr;
  Fp8Parameters parameters = {};
  std::vector<std::pair<std::string, StateValue>> told = {};
};

/// Throws `invalid_argument` for a parameter that the policy lacks or that is out of range, and for fp8_lm, which goes
/// by how many values reach the largest: no amax tells that.
std::vector<Fp8Recipe> recipes_of(const Fp8Sweep& sweep);

/// Casts are counted from each tensor's second amax on: the first scale that an amax has made.
struct SimulatedCasts {
  std::uint64_t casts = 0;
  std::uint64_t saturated = 0;          ///< the greatest value was beyond the format's largest, by more than rounding
  std::uint64_t saturated_tensors = 0;  ///< that had such a cast
  std::uint64_t not_finite = 0;         ///< casts of inf or NaN; not among `casts`
  double most_beyond = 0;               ///< powers of two from the largest of the format to the greatest value
  std::size_t worst = 0;                ///< the tensor of that; of those that stay within, of `most_unused`
  double mean_unused = 0;               ///< powers of two from the greatest value to the largest of the format,
  double most_unused = 0;               ///< of casts that stay within: what the smallest values lose
};

/// REQUIRES: a tensor at least.
SimulatedCasts simulate(const Fp8Recipe& recipe, std::span<const Amaxes> tensors);

struct Fp8Simulation {
  std::vector<std::string> targets;
  std::vector<Amaxes> tensors;
  std::vector<std::pair<Fp8Recipe, SimulatedCasts>> runs;
};

/// Throws as recipes_of, and `not_found` where there is no amax.
Fp8Simulation simulation_of(std::vector<std::string> targets, std::vector<Amaxes> tensors, const Fp8Sweep& sweep);

}  // namespace tare
