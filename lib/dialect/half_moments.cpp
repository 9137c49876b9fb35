#include "lib/dialect/half_moments.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"

namespace tare {
namespace {

// Source: torch/optim/adam.py, _single_tensor_adam (2.9): denom = exp_avg_sq.sqrt() / ... + eps, of the moments' dtype.
constexpr std::string_view second_moment = "exp_avg_sq";
constexpr double rounds_to_zero = 0x1p-25;  // half of float16's smallest number: a tie, which goes to the even 0

struct Moments {
  std::uint64_t count = 0;
  std::uint64_t in_half = 0;
  std::optional<double> eps = {};  ///< the smallest one
};

/// Not where the tensor's description makes no sense.
bool is_half(const Tree& tree, NodeId tensor) {
  try {
    return tree.tensor(tensor).type.name == "float16";
  } catch (const Error&) {
    return false;
  }
}

void take(Moments& moments, const Tree& tree, NodeId map) {
  const NodeId moment = tree.find(map, second_moment);
  if (moment != nowhere && tree.kind(moment) == Kind::tensor) {
    ++moments.count;
    if (is_half(tree, moment)) ++moments.in_half;
  }
  const NodeId eps = tree.find(map, "eps");
  if (eps == nowhere || tree.find(map, "params") == nowhere) return;
  const Value value = tree.value(eps, 1);
  if (value.number() != nullptr) moments.eps = std::min(moments.eps.value_or(value.as_double()), value.as_double());
}

}  // namespace

std::optional<Finding> told_of_half_moments(const Tree& tree) {
  Moments moments;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) == Kind::map) take(moments, tree, id);
  }
  if (moments.in_half == 0 || !moments.eps || *moments.eps > rounds_to_zero) return std::nullopt;
  return Finding{
      Severity::warning, "adam-half",
      fmt::format("{} of {} second moments ({}) are float16, where squares below 2^-25 are 0, and so is the "
                  "optimizer's eps of {}: such updates are divided by 0 (by eps alone where a fused kernel "
                  "makes them); keep the optimizer's state in float32 or bfloat16, or give it an eps of 1e-7 "
                  "or more",
                  moments.in_half, moments.count, second_moment, float_text(*moments.eps)),
      "", ""};
}

}  // namespace tare
