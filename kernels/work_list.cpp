#include "kernels/work_list.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>

#include "kernels/fold.hpp"

namespace tare::kernels {

WorkList::WorkList() : plan_({.piece_bytes = most_piece_bytes, .item_bytes = 0}) {
  segments_.reserve(most_segments);
}

void WorkList::assign(std::span<const Tensor> tensors) {
  Plan plan = plan_;
  plan.assign(tensors);
  const std::size_t pieces = plan.pieces().size();
  if (pieces > std::numeric_limits<std::uint32_t>::max()) throw std::length_error("more pieces than a list can hold");
  pieces_.reserve(pieces);
  tensor_pieces_.reserve(tensors.size());  // nothing below allocates
  plan_ = std::move(plan);
  pieces_.clear();
  tensor_pieces_.clear();
  std::uint32_t number = 0;
  for (const Tensor& tensor : tensors) tensor_pieces_.push_back({0, 0, tensor.count});
  for (const Piece& piece : plan_.pieces()) {
    TensorPieces& run = tensor_pieces_[piece.tensor];
    if (run.pieces++ == 0) run.first = number;
    pieces_.push_back({plan_.offset(piece), piece.count, piece.tensor, number++, 0});
  }
  order_pieces();
  cut_segments();
}

void WorkList::order_pieces() {
  const auto dtype_of = [this](const WorkPiece& piece) { return plan_.tensors()[piece.tensor].dtype; };
  std::ranges::sort(pieces_, [&](const WorkPiece& a, const WorkPiece& b) {
    if (dtype_of(a) != dtype_of(b)) return dtype_of(a) < dtype_of(b);
    if (a.count != b.count) return a.count > b.count;
    return a.found < b.found;
  });
}

void WorkList::cut_segments() {
  const auto sharers_of = [](const WorkPiece& piece, Dtype dtype) {
    if (piece.count > share_of_warp(dtype)) return groups_of_warp(dtype) * cuda::block_warps;
    return piece.count > run_elements(static_cast<std::size_t>(size_of(dtype))) ? groups_of_warp(dtype) : 1;
  };
  segments_.clear();
  items_ = 0;
  for (std::uint32_t i = 0; i < pieces_.size(); ++i) {
    const Dtype dtype = plan_.tensors()[pieces_[i].tensor].dtype;
    const auto sharers_log2 = static_cast<std::uint32_t>(std::countr_zero(sharers_of(pieces_[i], dtype)));
    const Segment next{items_, i, 0, sharers_log2, static_cast<std::int32_t>(dtype)};
    if (segments_.empty() || segments_.back().dtype != next.dtype ||
        segments_.back().sharers_log2 != next.sharers_log2) {
      segments_.push_back(next);
    }
    Segment& segment = segments_.back();
    if (segment.pieces++ % pieces_of_item(dtype, sharers_log2) == 0) ++items_;
  }
}

}  // namespace tare::kernels
