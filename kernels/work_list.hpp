// A list of tensors as work for the blocks of a GPU. Tensors are cut into pieces (plan.hpp). A warp has groups of lanes
// that read 16 bytes each from a block of 32 elements. All groups of a block share the runs of a large piece; one of
// fewer runs than a warp has groups is a warp's, and one of a single run a group's: so a block reads memory that lies
// side by side, and tiny tensors share a warp. Pieces are grouped by dtype and ordered longest first: pieces side by
// side are of the same length, and the end of a launch is made of small ones. Pure host code.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/plan.hpp"
#include "kernels/simt.hpp"

namespace tare::kernels {

/// A piece, and where its findings go: the number that it has in the plan.
struct WorkPiece {
  std::uint64_t offset;  ///< first element
  std::uint32_t count;
  std::uint32_t tensor;
  std::uint32_t found;
  std::uint32_t unused;
};

/// Pieces of one dtype that as many groups of lanes share. Items, each what a block takes at once, are numbered through
/// all segments.
struct Segment {
  std::uint32_t first_item;
  std::uint32_t first_piece;
  std::uint32_t pieces;
  std::uint32_t sharers_log2;  ///< of groups: 0, those of a warp, or those of a block
  std::int32_t dtype;
};

/// The pieces of a tensor, by their numbers in the plan.
struct TensorPieces {
  std::uint32_t first;
  std::uint32_t pieces;
  std::uint64_t count;  ///< elements
};

inline constexpr int dtypes = 6;
inline constexpr int most_segments = 3 * dtypes;

/// How many groups of lanes a warp has: 32 lanes of 16 bytes, 32 elements side by side for each group.
TARE_HD constexpr std::uint32_t groups_of_warp(Dtype dtype) {
  return static_cast<std::uint32_t>(16 / size_of(dtype));
}

/// How many elements of a piece that a block shares are one warp's.
TARE_HD constexpr std::uint32_t share_of_warp(Dtype dtype) {
  return groups_of_warp(dtype) * run_elements(static_cast<std::size_t>(size_of(dtype)));
}
/// How many pieces an item has; 1 where all groups of a block share one.
TARE_HD constexpr std::uint32_t pieces_of_item(Dtype dtype, std::uint32_t sharers_log2) {
  return groups_of_warp(dtype) * cuda::block_warps >> sharers_log2;
}

class WorkList {
 public:
  WorkList();

  /// Another list. Memory of earlier ones is used again; strong guarantee if there is not enough.
  void assign(std::span<const Tensor> tensors);
  /// Takes other addresses; false (and nothing done) unless counts and dtypes are the same.
  bool rebind(std::span<const Tensor> tensors) { return plan_.rebind(tensors); }

  std::span<const Tensor> tensors() const { return plan_.tensors(); }
  std::span<const WorkPiece> pieces() const { return pieces_; }
  std::span<const Segment> segments() const { return segments_; }
  std::span<const TensorPieces> tensor_pieces() const { return tensor_pieces_; }
  std::uint32_t items() const { return items_; }
  std::uint64_t elements() const { return plan_.elements(); }

 private:
  void order_pieces();
  void cut_segments();

  Plan plan_;
  std::vector<WorkPiece> pieces_;
  std::vector<TensorPieces> tensor_pieces_;
  std::vector<Segment> segments_;
  std::uint32_t items_ = 0;
};

}  // namespace tare::kernels
