// A rectangle of a matrix, quantised or made values again by one thread while it stays in the nearest caches.
#pragma once

#include "kernels/cpu/panel.hpp"
#include "kernels/fp8/matrix.hpp"

namespace tare::kernels::cpu {

/// What a panel is of a matrix; blocks lie in it as wholes.
struct Part {
  std::uint64_t row;
  std::uint64_t column;
  std::uint32_t rows;
  std::uint32_t columns;
};

/// Rows and columns of parts, but for the last ones.
constexpr std::uint32_t part_rows(fp8::Scaling scaling) {
  return fp8::block_length(scaling) == fp8::blockwise_block ? 128 : 32;
}
inline constexpr std::uint32_t part_values = 16384;
constexpr std::uint32_t part_columns(fp8::Scaling scaling) {
  return part_values / part_rows(scaling);
}

/// The room that one thread needs. Allocates nothing.
class MatrixPanel {
 public:
  MatrixPanel(const fp8::Quantisation& how, const PanelTable& code);

  /// Bits of the greatest magnitude.
  std::uint32_t amax(const fp8::Matrix& matrix, const Part& part);
  /// `of_matrix`: the scale of all of it, where there is one. Returns the amax where the scaling is delayed.
  std::uint32_t quantise(const fp8::Matrix& matrix, const Part& part, float of_matrix);
  void dequantise(const fp8::Matrix& matrix, const Part& part);

 private:
  float* values_of(std::uint32_t row) { return values_ + row * stride_; }
  std::uint8_t* bytes_of(std::uint32_t row) { return bytes_ + row * stride_; }
  void load(const fp8::Matrix& matrix, const Part& part);
  std::uint32_t amax_of(const Part& part);
  void share_factor(const fp8::Matrix& matrix, const Part& part, float of_matrix);
  void make_row_factors(const fp8::Matrix& matrix, const Part& part, std::uint32_t row, float of_matrix);
  void make_column_factors(const fp8::Matrix& matrix, const Part& part, std::uint32_t first, float of_matrix);
  void cast(std::uint32_t row, std::uint32_t columns);
  void write_rows(const fp8::Matrix& matrix, const Part& part, void* to);
  void write_turned(const fp8::Matrix& matrix, const Part& part);
  void read_rows(const fp8::Matrix& matrix, const Part& part, const void* from);
  void read_turned(const fp8::Matrix& matrix, const Part& part);
  void find_factors(const fp8::Matrix& matrix, const Part& part, std::uint32_t row);

  const fp8::Quantisation how_;
  const PanelTable& code_;
  const std::uint32_t stride_;
  const bool is_packed_;  // two values a byte
  float value_of_byte_[256];
  alignas(64) float values_[part_values];
  alignas(64) float factors_[part_values / 32] = {};
  alignas(64) std::uint32_t column_amax_[part_values / 32];
  alignas(64) std::uint8_t bytes_[part_values] = {};
  alignas(64) std::uint8_t turned_[8 * 128] = {};
};

}  // namespace tare::kernels::cpu
