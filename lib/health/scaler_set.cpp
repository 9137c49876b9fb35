#include "lib/health/scaler_set.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

namespace tare {
namespace {

/// Deaths that are kept one by one; of more, the ways are joined.
constexpr std::size_t most_deaths = 64;

std::uint64_t hash_of(std::span<const std::uint64_t> key) {
  std::uint64_t hash = 0x9E3779B97F4A7C15U;
  for (const std::uint64_t word : key) hash = (hash ^ word) * 0xBF58476D1CE4E5B9U + (hash >> 29U);
  return hash ^ (hash >> 32U);
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
  now_ = rule::find_field(*spec_, "step");
  for (std::size_t i = 0; i < spec_->fields.size() && now_ != nullptr; ++i) {
    const rule::FieldSpec& field = spec_->fields[i];
    if (&field == now_) counts_[i % most_fields] = Counts::nothing;
    if (field.name.starts_with("last_")) counts_[i % most_fields] = Counts::since;
  }
}

/// The fields, and not the padding between them.
ScalerSet::Key ScalerSet::key_of(const PossibleState& possible) const {
  Key key{};
  const std::int64_t now = now_ == nullptr ? 0 : now_->read(possible.state).integer;
  for (std::size_t i = 0; i < spec_->fields.size(); ++i) {
    const Counts counts = counts_[i % most_fields];
    if (counts == Counts::nothing) continue;
    const rule::Number number = spec_->fields[i].read(possible.state);
    const bool is_real = number.kind == rule::NumberKind::real;
    const std::int64_t integer = counts == Counts::since ? now - number.integer : number.integer;
    key[i % most_fields] ^= is_real ? std::bit_cast<std::uint64_t>(number.real)
                                    : static_cast<std::uint64_t>(integer) ^ (std::uint64_t{1} << 62U);
  }
  if (joined_ == Joined::by_state_and_skips)
    key[most_fields] = std::bit_cast<std::uint64_t>(possible.way.skipped.least);
  return key;
}

bool ScalerSet::carry_on(PossibleState& possible, bool overflow) {
  const double scale = scale_of(possible);
  rule::Counters counters;
  const rule::Stepped stepped = rule::advance(policy_, possible.state, overflow, counters);
  if (stepped.skip) possible.way.skipped.add(1);
  if (scale < below_) possible.way.below.add(1);
  if (scale > 0 && std::isfinite(scale)) possible.way.log2_sum.add(std::log2(scale));
  possible.way.steps.add(1);
  if (stepped.raised == rule::Raised::nothing) return true;
  if (dead_.size() < most_deaths) {
    dead_.push_back(possible.way);
  } else {
    dead_.back().include(possible.way);
  }
  return false;
}

void ScalerSet::step_alone(bool overflow) {
  ++steps_;
  if (carry_on(states_.front(), overflow)) return;
  states_.clear();
  if (!first_death_) first_death_ = steps_;
}

void ScalerSet::begin_next() {
  next_.clear();
  keys_.clear();
  ++round_;
}

/// More than twice as many places as states.
void ScalerSet::grow_index() {
  constexpr std::size_t least = 64;
  index_.assign(std::max(least, 4 * keys_.size()), {});
  index_.resize(std::bit_ceil(index_.size()));
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    std::size_t at = hash_of(keys_[i]) & (index_.size() - 1);
    while (index_[at].round == round_) at = (at + 1) & (index_.size() - 1);
    index_[at] = {round_, static_cast<std::uint32_t>(i)};
  }
}

void ScalerSet::put(const PossibleState& possible) {
  if (2 * keys_.size() >= index_.size()) grow_index();
  const Key key = key_of(possible);
  std::size_t at = hash_of(key) & (index_.size() - 1);
  for (; index_[at].round == round_; at = (at + 1) & (index_.size() - 1)) {
    if (keys_[index_[at].index] != key) continue;
    next_[index_[at].index].way.include(possible.way);
    return;
  }
  index_[at] = {round_, static_cast<std::uint32_t>(next_.size())};
  keys_.push_back(key);
  next_.push_back(possible);
}

}  // namespace tare
