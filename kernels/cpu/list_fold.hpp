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

  /// In the next tensors, all of them whole. `finite`: of the same pieces, where it is wanted.
  void add(std::span<const PieceFound> found, std::span<const FiniteValues> finite) {
    for (const PieceFound& piece : found) all_.add(piece);
    if (findings_.each == nullptr) return;
    const std::span<const Piece> pieces = plan_.pieces().subspan(pieces_, found.size());
    for (std::size_t first = 0; first < pieces.size();) {
      const std::uint32_t tensor = pieces[first].tensor;
      std::size_t end = first + 1;
      while (end < pieces.size() && pieces[end].tensor == tensor) ++end;
      const std::span<const PieceFound> of_tensor = found.subspan(first, end - first);
      fill_empty(tensor);
      findings_.each[tensor] = of_tensor.size() == 1 ? fold_one(of_tensor[0], pieces[first].count)
                                                     : fold_pieces(of_tensor, plan_.tensors()[tensor].count);
      if (findings_.finite != nullptr) {
        findings_.finite[tensor] = finite_of(findings_.each[tensor], static_cast<std::uint32_t>(end - first),
                                             [&](std::uint32_t i) { return finite[first + i]; });
      }
      ++tensor_;
      first = end;
    }
    pieces_ += found.size();
  }

  void finish() {
    if (findings_.each != nullptr) fill_empty(plan_.tensors().size());
    const Statistics total = all_.finish(plan_.elements());
    if (findings_.found_inf != nullptr && !std::isfinite(total.max_abs)) *findings_.found_inf = 1.0f;
    if (findings_.total != nullptr) merge(*findings_.total, total);
  }

 private:
  /// Tensors without elements have no pieces.
  void fill_empty(std::size_t end) {
    for (; tensor_ < end; ++tensor_) {
      findings_.each[tensor_] = Statistics{};
      if (findings_.finite != nullptr) findings_.finite[tensor_] = FiniteValues{};
    }
  }

  const Plan& plan_;
  const Findings& findings_;
  Fold all_;
  std::size_t pieces_ = 0;
  std::size_t tensor_ = 0;
};

}  // namespace tare::kernels::cpu
