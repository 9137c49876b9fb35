#include "lib/state/pattern_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_set>

#include "lib/state/behaviour.hpp"
#include "lib/state/rule_memory.hpp"
#include "lib/state/running.hpp"

namespace tare {
namespace {

using rule::RunningState;
using Memory = std::vector<std::int64_t>;

constexpr std::size_t most_own_moments = 5'000;
constexpr std::size_t most_middle_moments = 20'000;
constexpr double middle = 0x1p10;  // float16 scales end at 2^15

struct MemoryHash {
  std::size_t operator()(const Memory& memory) const {
    std::uint64_t hash = 0x9e3779b97f4a7c15U;
    for (const std::int64_t value : memory) {
      hash = (hash ^ static_cast<std::uint64_t>(value)) * 0xff51afd7ed558ccdU;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

struct Moment {
  rule::RuleState state, other;
  std::uint32_t parent;
  bool overflow;  ///< the step that led here
};

class Search {
 public:
  Search(const RunningState& scaler, const RunningState& other, SearchedScales scales)
      : is_own_(scales == SearchedScales::own),
        most_(is_own_ ? most_own_moments : most_middle_moments),
        scaler_(is_own_ ? scaler : away_from_bounds(scaler)),
        other_(is_own_ ? other : away_from_bounds(other)) {
    visit({scaler_.state, other_.state, 0, false});
  }

  std::optional<std::vector<bool>> run() {
    for (std::uint32_t at = 0; at < moments_.size() && moments_.size() < most_; ++at) {
      for (const bool overflow : {false, true}) {
        scaler_.state = moments_[at].state;
        other_.state = moments_[at].other;
        const bool raised = step(scaler_, overflow) != rule::Raised::nothing;
        const bool other_raised = step(other_, overflow) != rule::Raised::nothing;
        if (raised && other_raised) continue;
        if (raised != other_raised || !same_scale(scale_of(scaler_), scale_of(other_))) return pattern(at, overflow);
        visit({scaler_.state, other_.state, at, overflow});
      }
    }
    return std::nullopt;
  }

 private:
  void visit(Moment moment) {
    scaler_.state = moment.state;
    other_.state = moment.other;
    Memory memory = memory_of(scaler_);
    const Memory more = memory_of(other_);
    memory.insert(memory.end(), more.begin(), more.end());
    if (is_own_) {
      for (const RunningState* one : {&scaler_, &other_}) memory.push_back(std::bit_cast<std::int64_t>(scale_of(*one)));
    } else {
      moment.state = rule::with_scale(scaler_.policy, moment.state, middle).state;
      moment.other = rule::with_scale(other_.policy, moment.other, middle).state;
    }
    if (known_.insert(std::move(memory)).second) moments_.push_back(moment);
  }

  [[nodiscard]] std::vector<bool> pattern(std::uint32_t at, bool last) const {
    std::vector<bool> overflows{last};
    for (; at != 0; at = moments_[at].parent) overflows.push_back(moments_[at].overflow);
    std::reverse(overflows.begin(), overflows.end());
    return overflows;
  }

  bool is_own_;
  std::size_t most_;
  RunningState scaler_, other_;
  std::vector<Moment> moments_;  ///< in the order of their distance from the start
  std::unordered_set<Memory, MemoryHash> known_;
};

}  // namespace

std::optional<std::vector<bool>> shortest_parting(const RunningState& scaler, const RunningState& other,
                                                  SearchedScales scales) {
  return Search(scaler, other, scales).run();
}

}  // namespace tare
