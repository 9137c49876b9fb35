#include "lib/dialect/zero_moments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "lib/base/error.hpp"
#include "lib/dialect/half_moments.hpp"

namespace tare {
namespace {

// Source: torch/optim/adam.py (2.9): a parameter's state is {"step", "exp_avg", "exp_avg_sq"}, made at its first step.
constexpr std::string_view steps_key = "step";
constexpr std::uint64_t most_elements = 4096;
constexpr std::size_t most_looked_at = 16;

/// Not where it cannot be read: what is wrong with it is told elsewhere.
Value read(const Tree& tree, NodeId node, std::uint64_t elements) {
  try {
    return tree.value(node, elements);
  } catch (const Error&) {
    return {};
  }
}

/// 0 where nothing says how many.
double steps_of(const Tree& tree, NodeId state) {
  const NodeId node = tree.find(state, steps_key);
  const Value value = node == nowhere ? Value() : read(tree, node, 1);
  return value.number() == nullptr ? 0 : value.as_double();
}

struct LookedAt {
  std::size_t moments = 0;
  std::string type;
  double least_steps = 0;
};

/// Nothing where one of them holds something.
std::optional<LookedAt> all_zero(const Tree& tree) {
  LookedAt looked;
  for (NodeId id = 0; id < tree.size() && looked.moments < most_looked_at; ++id) {
    const NodeId moment = tree.kind(id) == Kind::map ? tree.find(id, second_moment) : nowhere;
    if (moment == nowhere || tree.kind(moment) != Kind::tensor) continue;
    const double steps = steps_of(tree, id);
    if (!(steps > 0)) continue;
    const Value value = read(tree, moment, most_elements);
    const auto* array = std::get_if<PackedArray>(&value.data);
    if (array == nullptr || array->count() == 0) continue;
    const bool is_zero = std::ranges::all_of(array->bytes(), [](std::byte byte) { return byte == std::byte{0}; });
    if (!is_zero) return std::nullopt;
    looked.least_steps = looked.moments == 0 ? steps : std::min(looked.least_steps, steps);
    looked.type = array->type.name;
    ++looked.moments;
  }
  return looked.moments == 0 ? std::nullopt : std::optional(looked);
}

}  // namespace

std::optional<Finding> told_of_zero_moments(const Tree& tree) {
  const auto looked = all_zero(tree);
  if (!looked) return std::nullopt;
  return Finding{
      Severity::warning, "moments-zero",
      fmt::format("second moments ({}, {}) hold nothing but 0 after {} steps, in all {} that were looked at (those of "
                  "at most {} elements): no gradient arrived, or their squares were too small for that type; look at "
                  "the scale, and keep the optimizer's state in float32 or bfloat16",
                  second_moment, looked->type, looked->least_steps, looked->moments, most_elements),
      "", ""};
}

}  // namespace tare
