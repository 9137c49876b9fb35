// How the results of pieces become those of tensors and lists, the same in every bit on every backend.
//
// Tensors are cut into pieces of 64 KiB, and pieces into runs of 512 elements: 16 of f64, 32 of f32. Those of 16 and 8
// bits, whose sums take longer to put together, into pieces of 32 KiB and runs of 2,048: 8 and 16. Within a run,
// position p of each block of 32 elements has a sum of its own; the 32 sums are added as a tree (16 and 16, 8 and 8
// ...; for bf16 even and odd positions first). The sums of a piece's runs are added as a tree of neighbours (1st and
// 2nd, 3rd and 4th, then those two ...). The sums of a tensor's pieces, and of all pieces of a list, are added as
// fold_chains chains, piece i to chain i % fold_chains, and the chains as a tree again. So sums are wide enough for any
// machine to work on at once, and neither threads nor blocks nor vectors show in a bit.
//
// Sums are in double. For 8 and 16 bits, where additions in double would take longer than reading, the squares of a run
// are added in float first; the error of the sum stays below 2^-18 of it, for e4m3 2^-17. All squares of f16 and
// fp8 are exact in float, and so are those of bf16 from bf16_low on and below bf16_large. Others are added in double at
// once; but where the position's sum in float has come to bf16_low_run, low ones make no difference to it any more, and
// are left out. Those of e4m3 begin with 32 (run_start), which is taken off at the end of the run: so the CPU, which
// multiplies elements by a power of two, never has a sum that is a denormal float, slow on many machines. It is a
// multiple of the last place of any sum of a run, and none of its bits is lost beside the least square.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/statistics.hpp"

namespace tare::kernels {

inline constexpr std::uint32_t most_piece_bytes = 65536;
inline constexpr float bf16_low = 0x1p-63f;
inline constexpr float bf16_large = 0x1p60f;
inline constexpr std::int16_t bf16_low_pattern = 0x2000;
inline constexpr std::int16_t bf16_large_pattern = 0x5d80;
inline constexpr float bf16_low_run = 0x1p-96f;
inline constexpr float run_start[] = {0, 0, 0, 0, 0, 32, 0};  ///< by dtype id
inline constexpr std::uint32_t fold_chains = 256;

/// A run of elements of one tensor, handled by one worker with one partial result. Lists may have many thousands of
/// tensors of a few elements: a pass over those reads their pieces and nothing else of the list.
struct Piece {
  void* data;  ///< first element
  std::uint32_t tensor;
  std::uint32_t count : 16;
  Dtype dtype : 16;
};

// How elements of so many bytes are cut: how many a piece has at most, in how many runs, and a run in blocks of 32.
TARE_HD constexpr std::uint32_t piece_elements(std::size_t element_bytes) {
  return (element_bytes <= 2 ? most_piece_bytes / 2 : most_piece_bytes) / static_cast<std::uint32_t>(element_bytes);
}
TARE_HD constexpr std::uint32_t run_blocks(std::size_t element_bytes) {
  return element_bytes <= 2 ? 64 : 16;
}
TARE_HD constexpr std::uint32_t run_elements(std::size_t element_bytes) {
  return run_blocks(element_bytes) * 32;
}
TARE_HD constexpr std::uint32_t runs_of_piece(std::size_t element_bytes) {
  return piece_elements(element_bytes) / run_elements(element_bytes);
}

/// What was found in one piece.
struct PieceFound {
  double sum_of_squares;
  std::uint64_t max_bits;  ///< greatest magnitude, as the bits of a double: compared as integers
  std::uint32_t zeros;
  std::uint32_t below;  ///< zeros not among them
};

/// As PieceFound, without the sum.
struct PieceCounts {
  std::uint64_t max_bits;
  std::uint32_t zeros;
  std::uint32_t below;
};

/// The statistics of `count` elements whose chains have been added up in `statistics.sum_of_squares`.
TARE_HD inline void finish_fold(Statistics& statistics, std::uint64_t max_bits, std::uint64_t count) {
  statistics.max_abs = double_from(max_bits);
  if (is_nan(statistics.max_abs)) statistics.sum_of_squares = statistics.max_abs;
  statistics.count = count;
}

/// Puts together, in their order, what the pieces of a tensor or of a list found.
class Fold {
 public:
  explicit Fold(std::size_t pieces)
      // Chains that no piece reaches would add zeros, which changes nothing: they are left out.
      : chains_(pieces < fold_chains ? std::bit_ceil(pieces + (pieces == 0)) : fold_chains) {
    for (std::size_t i = 0; i < chains_; ++i) sums_[i] = 0;
  }

  void add(const PieceFound& found) {
    sums_[added_++ % fold_chains] += found.sum_of_squares;
    if (found.max_bits > max_bits_) max_bits_ = found.max_bits;
    statistics_.zeros += found.zeros;
    statistics_.below += found.below;
  }

  /// `count`: the elements of all pieces. To be called once.
  Statistics finish(std::uint64_t count) {
    for (std::size_t half = chains_ / 2; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) sums_[i] += sums_[i + half];
    }
    statistics_.sum_of_squares = sums_[0];
    finish_fold(statistics_, max_bits_, count);
    return statistics_;
  }

 private:
  std::size_t chains_;
  std::size_t added_ = 0;
  std::uint64_t max_bits_ = 0;
  Statistics statistics_;
  double sums_[fold_chains];
};

}  // namespace tare::kernels
