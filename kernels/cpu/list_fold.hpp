// What was found in the pieces of a list, made into what its caller asked for.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/fold.hpp"
#include "kernels/launch.hpp"
#include "kernels/plan.hpp"

namespace tare::kernels::cpu {

/// What Fold makes of one piece, faster.
inline Statistics fold_one(const PieceFound& piece, std::uint64_t count) {
  Statistics statistics;
  statistics.sum_of_squares = piece.sum_of_squares;
  statistics.zeros = piece.zeros;
  statistics.below = piece.below;
  finish_fold(statistics, piece.max_bits, count);
  return statistics;
}

inline Statistics fold_pieces(std::span<const PieceFound> found, std::uint64_t count) {
  Fold fold(found.size());
  for (const PieceFound& piece : found) fold.add(piece);
  return fold.finish(count);
}

/// Makes Findings of what was found in a list's pieces.
class ListFold {
 public:
  ListFold(const Plan& plan, const Findings& findings) : plan_(plan), findings_(findings), all_(plan.pieces().size()) {}

  /// In the next tensors, all of them whole.
  void add(std::span<const PieceFound> found) {
    for (const PieceFound& piece : found) all_.add(piece);
    if (findings_.each == nullptr) return;
    for (std::size_t taken = 0; taken < found.size(); ++tensor_) {
      const std::size_t first = taken;
      while (taken < found.size() && plan_.pieces()[pieces_ + taken].tensor == tensor_) ++taken;
      const std::uint64_t count = plan_.tensors()[tensor_].count;
      findings_.each[tensor_] =
          taken - first == 1 ? fold_one(found[first], count) : fold_pieces(found.subspan(first, taken - first), count);
    }
    pieces_ += found.size();
  }

  void finish() {
    if (findings_.each != nullptr) {  // the last tensors may be empty
      for (; tensor_ < plan_.tensors().size(); ++tensor_) findings_.each[tensor_] = fold_pieces({}, 0);
    }
    const Statistics total = all_.finish(plan_.elements());
    if (findings_.found_inf != nullptr && !std::isfinite(total.max_abs)) *findings_.found_inf = 1.0f;
    if (findings_.total != nullptr) merge(*findings_.total, total);
  }

 private:
  const Plan& plan_;
  const Findings& findings_;
  Fold all_;
  std::size_t pieces_ = 0;
  std::size_t tensor_ = 0;
};

}  // namespace tare::kernels::cpu
