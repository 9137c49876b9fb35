// The boundary between the passes and the code made for one instruction set. Nothing here may have a body: an inline
// function compiled with AVX-512 switched on could be the copy that the linker keeps for every CPU.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tare::kernels {
struct Piece;
}

namespace tare::kernels::cpu {

inline constexpr int dtype_ids = 7;  // dtype ids are 1 to 6

/// What is the same for all pieces of a pass.
struct Recipe {
  /// By dtype id: the lowest magnitude pattern that is not below the threshold.
  std::uint64_t threshold_pattern[dtype_ids];
  float inverse_scale;
  float coefficient;
  float limit;
  bool scales;              ///< inverse_scale is not 1
  bool scale_is_nan;        ///< inverse_scale is NaN: which NaN wins is a rule of its own
  bool factors_are_finite;  ///< inverse_scale and coefficient
  bool clips_norm;          ///< coefficient is not 1
  bool clips_values;        ///< limit is finite
  bool only_scales;         ///< by a scale that is neither 1 nor NaN; nothing is clipped
  bool bypass_cache;        ///< outputs are too large to be read again from cache
};

/// What was found in one piece.
struct Found {
  double sum_of_squares;
  std::uint64_t max_pattern;  ///< greatest magnitude, as the dtype's own bits
  std::uint32_t zeros;
  std::uint32_t below;  ///< zeros not among them
};

/// Reads `count` elements at `in`, writes as many to `out` where it is a writing one.
using PieceFunction = void (*)(const void* in, void* out, std::uint32_t count, const Recipe& recipe, Found& found);

/// Reads pieces of at most small elements, anywhere in memory, and writes them in place where it is a writing one.
using SmallPiecesFunction = void (*)(const Piece* pieces, std::size_t count, const Recipe& recipe, Found* found);
inline constexpr std::uint32_t small = 8;

/// Reads together whole pieces of one tensor, one behind the other, and writes them in place where it is a writing
/// one. Sums of squares are found for each of them, all else in the first.
using PiecesFunction = void (*)(void* at, const Recipe& recipe, Found* found);
inline constexpr std::size_t together = 4;

/// How a chunk's values lose their scale (summary.hpp), and what is subnormal among them as they lie there.
struct ChunkScale {
  double scale;
  double inverse;  ///< 0: divide
  double smallest_normal;
};

inline constexpr std::uint32_t chunk_values = 512;

/// What a chunk of a summary has. Exponents are added up from chunk to chunk: how many values have which exponent
/// field, 0 for those that are not finite. They repeat, and what stands in one table need not wait for the last one
/// counted.
struct ChunkSeen {
  static constexpr std::uint32_t tables = 4;

  std::uint32_t kept;  ///< finite ones; the numbers below are of these, and undefined without any
  std::uint32_t nans;
  std::uint32_t infinities;
  std::uint32_t zeros;
  std::uint32_t subnormals;
  double mean;
  double mean_abs;
  double squares_about_mean;
  double min;
  double max;
  double min_abs;
  std::uint64_t exponents[tables][2048];
};

/// `stored`: chunk_values of them as they lie there, zeros behind the first `count`; at a multiple of 64 bytes.
using ChunkFunction = void (*)(const double* stored, std::uint32_t count, const ChunkScale& scale, ChunkSeen& seen);

/// The code for one instruction set, by dtype ids; null where there is none (fp8 is never written).
struct PieceTable {
  PieceFunction observe[dtype_ids];
  PiecesFunction observe_together[dtype_ids];
  PiecesFunction unscale_together[dtype_ids];  ///< REQUIRES: Recipe::only_scales
  SmallPiecesFunction observe_small[dtype_ids];
  SmallPiecesFunction unscale_small[dtype_ids];  ///< REQUIRES: Recipe::only_scales
  PieceFunction write[dtype_ids][dtype_ids];     ///< [from][to]
  ChunkFunction summarise_chunk;
};

extern const PieceTable portable_pieces;
#if defined(__x86_64__)
extern const PieceTable sse4_pieces;
extern const PieceTable avx2_pieces;
extern const PieceTable avx512_pieces;
#elif defined(__aarch64__)
extern const PieceTable neon_pieces;
extern const PieceTable sve256_pieces;  ///< not in every build: see instruction_set.hpp
#endif

}  // namespace tare::kernels::cpu
