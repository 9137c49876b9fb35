#include "kernels/plan.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace tare::kernels {
namespace {

std::uint64_t element_size(const Tensor& tensor) {
  return static_cast<std::uint64_t>(size_of(tensor.dtype));
}

std::byte* bytes_of(const Tensor& tensor) {
  return static_cast<std::byte*>(tensor.data);
}

bool is_fp8(Dtype dtype) {
  return size_of(dtype) == 1;
}

std::optional<Defect> defect_of(const Tensor& tensor, Use use) {
  const std::uint64_t size = element_size(tensor);
  if (size == 0) return Defect::unknown_dtype;
  if (use == Use::write && is_fp8(tensor.dtype)) return Defect::unsupported_dtype;
  if (tensor.count == 0) return std::nullopt;
  if (tensor.data == nullptr) return Defect::null_data;
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data);
  if (address % size != 0) return Defect::misaligned;
  if (tensor.count > (std::numeric_limits<std::uintptr_t>::max() - address) / size) return Defect::too_large;
  return std::nullopt;
}

std::uint64_t most_elements(const Grain& grain, const Tensor& tensor) {
  const std::uint64_t size = element_size(tensor);
  return std::min<std::uint64_t>(grain.piece_bytes / size, piece_elements(size));
}

bool same_shape(const Tensor& a, const Tensor& b) {
  return a.count == b.count && a.dtype == b.dtype;
}

}  // namespace

std::optional<DefectAt> find_defect(std::span<const Tensor> tensors, Use use) {
  constexpr std::size_t most = std::numeric_limits<decltype(Piece::tensor)>::max();
  if (tensors.size() > most) return DefectAt{Defect::too_many, most};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (const auto defect = defect_of(tensors[i], use)) return DefectAt{*defect, i};
  }
  return std::nullopt;
}

std::optional<DefectAt> find_output_defect(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  const std::size_t both = std::min(inputs.size(), outputs.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (is_fp8(inputs[i].dtype)) return DefectAt{Defect::unsupported_dtype, i};
    if (inputs[i].count != outputs[i].count) return DefectAt{Defect::different_count, i};
  }
  if (inputs.size() != outputs.size()) return DefectAt{Defect::different_count, both};
  return find_defect(outputs, Use::write);
}

const char* describe(Defect defect) {
  switch (defect) {
    case Defect::unknown_dtype:
      return "has an unknown dtype";
    case Defect::unsupported_dtype:
      return "is fp8, which can be observed but not written";
    case Defect::null_data:
      return "has elements but no address";
    case Defect::misaligned:
      return "is not aligned to its element size";
    case Defect::too_large:
      return "reaches beyond the address space";
    case Defect::too_many:
      return "is more than a list can hold";
    case Defect::different_count:
      return "has another number of elements than its input";
  }
  return "";
}

void Plan::assign(std::span<const Tensor> tensors) {
  std::size_t pieces = 0;
  for (const Tensor& tensor : tensors) {
    const std::uint64_t most = most_elements(grain_, tensor);
    pieces += static_cast<std::size_t>((tensor.count + most - 1) / most);
  }
  tensors_.reserve(tensors.size());
  pieces_.reserve(pieces);
  item_starts_.reserve(pieces + 1);  // nothing below allocates
  tensors_.assign(tensors.begin(), tensors.end());
  pieces_.clear();
  item_starts_.clear();
  dtypes_ = 0;
  bytes_ = 0;
  elements_ = 0;

  item_starts_.push_back(0);
  std::uint64_t bytes_in_item = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    dtypes_ |= 1u << static_cast<int>(tensors[i].dtype);
    const std::uint64_t most = most_elements(grain_, tensors[i]);
    for (std::uint64_t offset = 0; offset < tensors[i].count; offset += most) {
      const std::uint64_t count = std::min<std::uint64_t>(most, tensors[i].count - offset);
      if (bytes_in_item >= grain_.item_bytes && pieces_.size() - item_starts_.back() >= grain_.item_pieces) {
        item_starts_.push_back(pieces_.size());
        bytes_in_item = 0;
      }
      Piece& piece = pieces_.emplace_back();
      piece.data = bytes_of(tensors[i]) + offset * element_size(tensors[i]);
      piece.tensor = static_cast<std::uint32_t>(i);
      piece.count = static_cast<std::uint16_t>(count);
      piece.dtype = tensors[i].dtype;
      bytes_in_item += count * element_size(tensors[i]);
      bytes_ += count * element_size(tensors[i]);
      elements_ += count;
    }
  }
  if (!pieces_.empty()) item_starts_.push_back(pieces_.size());
}

bool Plan::rebind(std::span<const Tensor> tensors) {
  if (!std::equal(tensors.begin(), tensors.end(), tensors_.begin(), tensors_.end(), same_shape)) return false;
  for (Piece& piece : pieces_) {
    const auto byte = static_cast<std::byte*>(piece.data) - bytes_of(tensors_[piece.tensor]);
    piece.data = bytes_of(tensors[piece.tensor]) + byte;
  }
  std::copy(tensors.begin(), tensors.end(), tensors_.begin());
  return true;
}

std::uint64_t Plan::offset(const Piece& piece) const {
  const auto byte = static_cast<std::byte*>(piece.data) - bytes_of(tensors_[piece.tensor]);
  return static_cast<std::uint64_t>(byte) / static_cast<std::uint64_t>(size_of(piece.dtype));
}

}  // namespace tare::kernels
