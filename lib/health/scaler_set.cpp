#include "lib/health/scaler_set.hpp"

#include <array>
#include <bit>
#include <cmath>

namespace tare {
namespace {

/// No policy has more fields.
constexpr std::size_t most_fields = 8;
/// Deaths that are kept one by one; of more, the ways are joined.
constexpr std::size_t most_deaths = 64;

using Key = std::array<std::uint64_t, most_fields>;

/// What tells two states apart: their fields, and not the padding between them.
Key key_of(const rule::PolicySpec& spec, const rule::RuleState& state) {
  Key key{};
  std::size_t used = 0;
  for (const rule::FieldSpec& field : spec.fields) {
    const rule::Number number = field.read(state);
    const bool is_real = number.kind == rule::NumberKind::kReal;
    key[used++ % most_fields] ^= is_real ? std::bit_cast<std::uint64_t>(number.real)
                                         : static_cast<std::uint64_t>(number.integer) ^ (std::uint64_t{1} << 62U);
  }
  return key;
}

std::uint64_t hash_of(const Key& key) {
  std::uint64_t hash = 0x9E3779B97F4A7C15U;
  for (const std::uint64_t word : key) hash = (hash ^ word) * 0xBF58476D1CE4E5B9U + (hash >> 29U);
  return hash;
}

}  // namespace

void WayThere::include(const WayThere& other) {
  skipped.include(other.skipped);
  below.include(other.below);
  log2_sum.include(other.log2_sum);
  steps.include(other.steps);
}

ScalerSet::ScalerSet(const rule::RunningState& start, double below)
    : policy_(start.policy), below_(below), spec_(&rule::spec_of(start.policy.id)) {
  states_.push_back({start.state, {}});
}

bool ScalerSet::carry_on(PossibleState& possible, bool overflow) {
  const double scale = scale_of(possible);
  rule::Counters counters;
  const rule::Stepped stepped = rule::advance(policy_, possible.state, overflow, counters);
  if (stepped.skip) possible.way.skipped.add(1);
  if (scale < below_) possible.way.below.add(1);
  if (scale > 0 && std::isfinite(scale)) possible.way.log2_sum.add(std::log2(scale));
  possible.way.steps.add(1);
  if (stepped.raised == rule::Raised::kNothing) return true;
  if (dead_.size() < most_deaths) {
    dead_.push_back(possible.way);
  } else {
    dead_.back().include(possible.way);
  }
  return false;
}

bool ScalerSet::step_alone(bool overflow) {
  ++steps_;
  if (carry_on(states_.front(), overflow)) return true;
  states_.clear();
  if (!first_death_) first_death_ = steps_;
  return true;
}

void ScalerSet::follow(const PossibleState& from, bool overflow) {
  PossibleState to = from;
  if (carry_on(to, overflow)) put(to);
}

void ScalerSet::put(const PossibleState& possible) {
  const Key key = key_of(*spec_, possible.state);
  const std::uint64_t hash = hash_of(key);
  const auto [first, last] = index_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    if (key_of(*spec_, next_[at->second].state) != key) continue;
    next_[at->second].way.include(possible.way);
    return;
  }
  index_.emplace(hash, next_.size());
  next_.push_back(possible);
}

}  // namespace tare
