#include "lib/dialect/half_moments.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/dialect/trainer.hpp"

namespace tare {
namespace {

// Source: torch/optim/adam.py, _single_tensor_adam (2.9): denom = exp_avg_sq.sqrt() / ... + eps, of the moments' dtype.
constexpr double rounds_to_zero = 0x1p-25;  // half of float16's smallest number: a tie, which goes to the even 0

struct Moments {
  std::uint64_t count = 0;
  std::uint64_t in_half = 0;
};

/// Not where the tensor's description makes no sense.
bool is_half(const Tree& tree, NodeId tensor) {
  try {
    return tree.tensor(tensor).type.name == "float16";
  } catch (const Error&) {
    return false;
  }
}

Moments moments_of(const Tree& tree) {
  Moments moments;
  for (NodeId id = 0; id < tree.size(); ++id) {
    const NodeId moment = tree.kind(id) == Kind::map ? tree.find(id, second_moment) : nowhere;
    if (moment == nowhere || tree.kind(moment) != Kind::tensor) continue;
    ++moments.count;
    if (is_half(tree, moment)) ++moments.in_half;
  }
  return moments;
}

/// The smallest of all groups of parameters.
std::optional<double> eps_of(const Tree& tree) {
  std::optional<double> least;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) != Kind::map || tree.find(id, "params") == nowhere) continue;
    const NodeId eps = tree.find(id, "eps");
    if (eps == nowhere) continue;
    const Value value = tree.value(eps, 1);
    if (value.number() != nullptr) least = std::min(least.value_or(value.as_double()), value.as_double());
  }
  return least;
}

/// By a trainer that loads it into float32 again.
bool is_halved_in_file_alone(const Tree& tree) {
  return std::ranges::any_of(trainers(), [&](const Trainer* trainer) {
    const auto& keys = trainer->halves_optimizer;
    return !keys.empty() &&
           std::ranges::all_of(keys, [&](std::string_view key) { return at_keys(tree, key) != nowhere; });
  });
}

}  // namespace

std::optional<Finding> told_of_half_moments(const Tree& tree) {
  if (is_halved_in_file_alone(tree)) return std::nullopt;
  const std::optional<double> eps = eps_of(tree);
  if (!eps || *eps > rounds_to_zero) return std::nullopt;
  const Moments moments = moments_of(tree);
  if (moments.in_half == 0) return std::nullopt;
  return Finding{
      Severity::warning, "adam-half",
      fmt::format("{} of {} second moments ({}) are float16, where squares below 2^-25 are 0, and so is the "
                  "optimizer's eps of {}: where the parameters are float16 too (load_state_dict casts to their type), "
                  "such updates are divided by 0 (by eps alone where a fused kernel makes them); keep the optimizer's "
                  "state in float32 or bfloat16, or give it an eps of 1e-7 or more",
                  moments.in_half, moments.count, second_moment, float_text(*eps)),
      "", ""};
}

}  // namespace tare
