// What other recipes of FP8 would have done: the rules' own scales, against a window that is looked at whole each step.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "lib/base/error.hpp"
#include "lib/health/simulate_fp8.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

constexpr float e4m3 = 448;

/// Amaxes that wander by powers of two, as a layer's do.
Amaxes wandering(unsigned seed, std::size_t steps) {
  std::mt19937 random(seed);
  std::normal_distribution<float> step(0, 0.7F);
  Amaxes tensor{"layer " + std::to_string(seed), e4m3, {}};
  float log2 = -3;
  for (std::size_t i = 0; i < steps; ++i) tensor.values.push_back(std::exp2(log2 += step(random)));
  return tensor;
}

struct Counted {
  std::uint64_t saturated = 0;
  double unused = 0, most_beyond = 0;
};

/// TransformerEngine's rule by its formula: the greatest of the last `length` amaxes, or the newest.
Counted counted(const Amaxes& tensor, std::size_t length, bool most_recent, float two_to_margin) {
  Counted result;
  std::size_t within = 0;
  for (std::size_t i = 1; i < tensor.values.size(); ++i) {
    const auto end = tensor.values.begin() + static_cast<std::ptrdiff_t>(i);
    const auto begin = end - static_cast<std::ptrdiff_t>(most_recent ? 1 : std::min(length, i));
    const float scale = tensor.format_max * (1 / two_to_margin) / *std::max_element(begin, end);
    const double bits = std::log2(static_cast<double>(tensor.values[i]) * static_cast<double>(scale) / 448);
    if (bits > 1e-6) {
      ++result.saturated;
      result.most_beyond = std::max(result.most_beyond, bits);
    } else {
      ++within;
      result.unused += std::max(-bits, 0.0);
    }
  }
  result.unused /= static_cast<double>(std::max<std::size_t>(within, 1));
  return result;
}

SimulatedCasts ran(const char* policy, std::span<const Amaxes> tensors, StateSection parameters = {}) {
  Fp8Sweep sweep{.policy = find_fp8_policy(policy)};
  sweep.parameters = std::move(parameters);
  return simulate(recipes_of(sweep).front(), tensors);
}

}  // namespace

TEST_CASE("every recipe of TransformerEngine saturates and wastes what its formula says") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::vector<Amaxes> tensors = {wandering(seed, 300)};
    const Fp8Sweep sweep{.policy = find_fp8_policy("transformer_engine"),
                         .history_lengths = {1, 2, 16, 33, 1024},
                         .margins = {0, 1, -2},
                         .algorithms = {"max", "most_recent"},
                         .parameters = {}};
    const std::vector<Fp8Recipe> recipes = recipes_of(sweep);
    REQUIRE(recipes.size() == 30);
    for (const Fp8Recipe& recipe : recipes) {
      const Fp8Parameters& told = recipe.parameters;
      const Counted wanted = counted(tensors.front(), static_cast<std::size_t>(told.history_length),
                                     told.algorithm == 1, static_cast<float>(std::exp2(told.margin)));
      const SimulatedCasts casts = simulate(recipe, tensors);
      CHECK(casts.casts == 299);
      CHECK(casts.saturated == wanted.saturated);
      CHECK(std::fabs(casts.mean_unused - wanted.unused) < 1e-5);
      CHECK(std::fabs(casts.most_beyond - wanted.most_beyond) < 1e-5);
    }
  }
}

TEST_CASE("a scale from the amax of the cast itself neither saturates nor wastes a bit") {
  const std::vector<Amaxes> tensors = {wandering(1, 100), wandering(2, 100)};
  const SimulatedCasts casts = ran("te_current", tensors);
  CHECK(casts.casts == 198);
  CHECK(casts.saturated == 0);
  CHECK(casts.most_unused < 1e-6);
  StateSection powers;
  powers.set("force_pow_2_scales", true);
  const SimulatedCasts rounded = ran("te_current", tensors, powers);
  CHECK(rounded.saturated == 0);
  CHECK(rounded.most_unused > 0.5);
  CHECK(rounded.most_unused < 1);
}

TEST_CASE("a scale that is divided by counts as what it does") {
  // flax takes the amax of the steps before it: the first cast that is counted has a scale from the first amax.
  const std::vector<Amaxes> tensors = {{"kernel", e4m3, {1, 4, 4, 4}}};
  StateSection short_history;
  short_history.set("amax_history_length", std::int64_t{1});
  const SimulatedCasts casts = ran("flax_fp8", tensors, short_history);
  CHECK(casts.saturated == 1);
  CHECK(std::fabs(casts.most_beyond - 2) < 1e-6);
}

TEST_CASE("casts of zeros are none, those of inf and NaN are told apart, and the worst tensor is named") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Amaxes> tensors = {{"still", e4m3, {2, 2, 0, 2, inf, nan}}, {"jumps", e4m3, {1, 1, 64}}};
  const SimulatedCasts casts = ran("transformer_engine", tensors);
  CHECK(casts.casts == 4);
  CHECK(casts.not_finite == 2);
  CHECK(casts.saturated == 1);
  CHECK(casts.saturated_tensors == 1);
  CHECK(tensors[casts.worst].name == "jumps");
  CHECK(std::fabs(casts.most_beyond - 6) < 1e-6);
}

TEST_CASE("what a recipe lacks, or an amax cannot tell, is refused") {
  const auto refused = [](Fp8Sweep sweep) {
    try {
      recipes_of(sweep);
    } catch (const Error& error) {
      return error.status == Status::invalid_argument;
    }
    return false;
  };
  const Fp8PolicySpec* te = find_fp8_policy("transformer_engine");
  CHECK(refused({.policy = find_fp8_policy("fp8_lm")}));
  CHECK(refused({.policy = find_fp8_policy("te_current"), .history_lengths = {16}}));
  CHECK(refused({.policy = te, .history_lengths = {0}}));
  CHECK(refused({.policy = te, .history_lengths = {1.5}}));
  CHECK(refused({.policy = te, .algorithms = {"newest"}}));
  CHECK_FALSE(refused({.policy = te, .history_lengths = {16}}));
  CHECK_THROWS_AS(simulation_of({"empty.pt"}, {}, {.policy = te}), Error);
}
