// Several ranks print the same event, and some frameworks print no rank with it: how many ranks there are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "lib/trace/steps.hpp"

namespace tare {

/// The greatest common divisor of the lengths of the runs of equal events. 4, 4, 8, 4: four ranks, and one value that
/// came back after a growth that nobody printed; 1, 1, 6: one rank, six steps at a floor. The first and the last run
/// may be cut off.
class Copies {
 public:
  void add(const TraceStep& event) {
    if (length_ > 0 && event.scale == last_.scale && event.after == last_.after) {
      is_glued_ = is_glued_ || event.line == last_.line;
      ++length_;
      return;
    }
    close();
    last_ = event;
    length_ = 1;
  }

  /// 1 where the runs do not tell.
  [[nodiscard]] std::size_t ranks() const {
    if (runs_ == 0) return is_glued_ ? std::max<std::size_t>(length_, 1) : 1;
    const std::size_t inner = divisor_;
    if (inner > 1 && inner_runs_ >= 2 && first_ <= inner && length_ <= inner) return inner;
    const std::size_t all = std::gcd(std::gcd(inner, first_), length_);
    // A value may come back twice by itself, and another one after it.
    const bool is_sure = is_glued_ || all > 2 || runs_ > 2;
    return is_sure ? std::max<std::size_t>(all, 1) : 1;
  }

 private:
  void close() {
    if (length_ == 0) return;
    if (runs_++ == 0) {
      first_ = length_;
    } else {
      divisor_ = std::gcd(divisor_, length_);
      ++inner_runs_;
    }
  }

  TraceStep last_;
  bool is_glued_ = false;  ///< two on one line: of two ranks for sure
  std::size_t length_ = 0, runs_ = 0, first_ = 0, divisor_ = 0, inner_runs_ = 0;
};

}  // namespace tare
