// A list of tensors cut into work of even size. Big tensors become many pieces, tiny ones share an item, so that a
// list of any shape keeps all workers (threads, blocks) busy until the end. Pure host code, the same for all backends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/fold.hpp"
#include "kernels/launch.hpp"

namespace tare::kernels {

/// What is wrong with a tensor of a list.
enum class Defect { unknown_dtype, unsupported_dtype, null_data, misaligned, too_large, too_many, different_count };

struct DefectAt {
  Defect defect;
  std::size_t index;  ///< of the tensor
};

/// What a pass will do with the tensors: fp8 can only be read.
enum class Use { read, write };

/// The first tensor that no pass may touch: unknown dtype, an fp8 that would be written, no data, an address that is
/// no multiple of the element's size, a size beyond the address space.
std::optional<DefectAt> find_defect(std::span<const Tensor> tensors, Use use);
/// The first output that cannot take its input: as above, or another number of elements or tensors.
std::optional<DefectAt> find_output_defect(std::span<const Tensor> inputs, std::span<const Tensor> outputs);
/// A few words for a message, such as "is not aligned to its element size".
const char* describe(Defect defect);

struct Grain {
  std::uint32_t piece_bytes;    ///< at most, in a piece; and piece_elements
  std::uint64_t item_bytes;     ///< an item ends with the piece that reaches this, and
  std::size_t item_pieces = 1;  ///< this
};

/// The cut. Pieces stand in the order of tensors and offsets; an item is a run of pieces.
class Plan {
 public:
  explicit Plan(Grain grain) : grain_(grain) {}

  /// Cuts another list. Memory of earlier lists is used again; strong guarantee if there is not enough.
  void assign(std::span<const Tensor> tensors);
  /// Takes other addresses; false (and nothing done) unless counts and dtypes are the same.
  bool rebind(std::span<const Tensor> tensors);

  std::span<const Tensor> tensors() const { return tensors_; }
  std::span<const Piece> pieces() const { return pieces_; }
  std::size_t item_count() const { return item_starts_.empty() ? 0 : item_starts_.size() - 1; }
  std::span<const Piece> item(std::size_t index) const {
    return pieces().subspan(item_starts_[index], item_starts_[index + 1] - item_starts_[index]);
  }
  /// The place of its first element in its tensor.
  std::uint64_t offset(const Piece& piece) const;
  bool has(Dtype dtype) const { return (dtypes_ >> static_cast<int>(dtype) & 1) != 0; }
  std::uint64_t bytes() const { return bytes_; }        ///< of all tensors together
  std::uint64_t elements() const { return elements_; }  ///< likewise

 private:
  Grain grain_;
  std::vector<Tensor> tensors_;
  std::vector<Piece> pieces_;
  std::vector<std::size_t> item_starts_;  // into pieces_, and its size at the end
  std::uint32_t dtypes_ = 0;              // a bit for each id
  std::uint64_t bytes_ = 0;
  std::uint64_t elements_ = 0;
};

}  // namespace tare::kernels
