#include "kernels/cpu/matrix_panel.hpp"

#include <algorithm>
#include <cstring>

namespace tare::kernels::cpu {
namespace {

using fp8::Matrix;
using fp8::Scaling;

/// Whether both sides are of the same bytes: their blocks are.
bool shares_bytes(Scaling scaling) {
  return fp8::block_length(scaling) == 0 || scaling == Scaling::blockwise_2d;
}

constexpr std::uint32_t corner = 8;

/// Eight bytes of eight rows, turned: halves of 32, 16 and 8 bits change places.
void turn(std::uint64_t (&rows)[corner]) {
  constexpr std::uint64_t lower[] = {0x00000000ffffffffu, 0x0000ffff0000ffffu, 0x00ff00ff00ff00ffu};
  for (std::uint32_t step = 4, level = 0; step > 0; step /= 2, ++level) {
    for (std::uint32_t i = 0; i < corner; ++i) {
      if ((i & step) != 0) continue;
      const std::uint64_t change = (rows[i] >> (8 * step) ^ rows[i + step]) & lower[level];
      rows[i] ^= change << (8 * step);
      rows[i + step] ^= change;
    }
  }
}

/// Two values a byte, the first in its lower half. May be done in place.
void pack(const std::uint8_t* bytes, std::uint32_t count, std::uint8_t* to) {
  for (std::uint32_t i = 0; i < count / 2; ++i) to[i] = static_cast<std::uint8_t>(bytes[2 * i] | bytes[2 * i + 1] << 4);
}

/// Where a value is in a side that has `stride` of them in a row.
std::uint64_t byte_at(std::uint64_t row, std::uint64_t column, std::uint64_t stride, bool is_packed) {
  return is_packed ? (row * stride + column) / 2 : row * stride + column;
}

}  // namespace

MatrixPanel::MatrixPanel(const fp8::Quantisation& how, const PanelTable& code)
    : how_(how), code_(code), stride_(part_columns(how.scaling)), is_packed_(how.format == fp8::Format::e2m1) {
  for (int i = 0; i < 256; ++i) value_of_byte_[i] = fp8::dequantised(how.format, static_cast<std::uint8_t>(i), 1.0f);
}

void MatrixPanel::load(const Matrix& matrix, const Part& part) {
  const auto size = static_cast<std::uint64_t>(size_of(matrix.dtype));
  const auto* from = static_cast<const unsigned char*>(matrix.values);
  for (std::uint32_t row = 0; row < part.rows; ++row) {
    const std::uint64_t at = (part.row + row) * matrix.columns + part.column;
    code_.widen[static_cast<int>(matrix.dtype)](from + at * size, part.columns, values_of(row));
  }
}

std::uint32_t MatrixPanel::amax_of(const Part& part) {
  std::uint32_t amax = 0;
  for (std::uint32_t row = 0; row < part.rows; ++row) {
    amax = std::max(amax, code_.amax(values_of(row), part.columns));
  }
  return amax;
}

std::uint32_t MatrixPanel::amax(const Matrix& matrix, const Part& part) {
  load(matrix, part);
  return amax_of(part);
}

void MatrixPanel::share_factor(const Matrix& matrix, const Part& part, float of_matrix) {
  if (how_.scaling == Scaling::blockwise_2d) {
    const fp8::BlockScale scale = block_scale(how_, float_from(amax_of(part)), matrix.dtype, of_matrix);
    const std::uint64_t i = part.row / fp8::blockwise_block;
    const std::uint64_t j = part.column / fp8::blockwise_block;
    if (matrix.rowwise.data != nullptr) {
      store_scale(how_.scaling, matrix.rowwise.scales, rowwise_scale_at(matrix, i, j), scale.kept);
    }
    if (matrix.columnwise.data != nullptr) {
      store_scale(how_.scaling, matrix.columnwise.scales, columnwise_scale_at(how_.scaling, matrix, i, j), scale.kept);
    }
    of_matrix = scale.factor;
  }
  std::fill_n(factors_, stride_, of_matrix);
}

void MatrixPanel::make_row_factors(const Matrix& matrix, const Part& part, std::uint32_t row, float of_matrix) {
  const std::uint32_t length = fp8::block_length(how_.scaling);
  for (std::uint32_t begin = 0; begin < part.columns; begin += length) {
    const std::uint32_t amax = code_.amax(values_of(row) + begin, std::min(length, part.columns - begin));
    const fp8::BlockScale scale = block_scale(how_, float_from(amax), matrix.dtype, of_matrix);
    store_scale(how_.scaling, matrix.rowwise.scales,
                rowwise_scale_at(matrix, part.row + row, (part.column + begin) / length), scale.kept);
    std::fill_n(factors_ + begin, length, scale.factor);
  }
}

/// Of the blocks that begin in row `first` of the part.
void MatrixPanel::make_column_factors(const Matrix& matrix, const Part& part, std::uint32_t first, float of_matrix) {
  const std::uint32_t length = fp8::block_length(how_.scaling);
  std::fill_n(column_amax_, stride_, 0u);
  for (std::uint32_t row = first; row < std::min(first + length, part.rows); ++row) {
    code_.raise(values_of(row), part.columns, column_amax_);
  }
  const std::uint64_t i = (part.row + first) / length;
  for (std::uint32_t column = 0; column < part.columns; ++column) {
    const fp8::BlockScale scale = block_scale(how_, float_from(column_amax_[column]), matrix.dtype, of_matrix);
    store_scale(how_.scaling, matrix.columnwise.scales,
                columnwise_scale_at(how_.scaling, matrix, i, part.column + column), scale.kept);
    factors_[column] = scale.factor;
  }
}

void MatrixPanel::cast(std::uint32_t row, std::uint32_t columns) {
  code_.cast[static_cast<int>(how_.format)](values_of(row), factors_, columns, bytes_of(row));
}

void MatrixPanel::write_rows(const Matrix& matrix, const Part& part, void* to) {
  for (std::uint32_t row = 0; row < part.rows; ++row) {
    std::uint8_t* at =
        static_cast<std::uint8_t*>(to) + byte_at(part.row + row, part.column, matrix.columns, is_packed_);
    if (is_packed_) {
      pack(bytes_of(row), part.columns, at);
    } else {
      std::memcpy(at, bytes_of(row), part.columns);
    }
  }
}

void MatrixPanel::write_turned(const Matrix& matrix, const Part& part) {
  for (std::uint32_t column = 0; column < part.columns; column += corner) {
    for (std::uint32_t row = 0; row < part.rows; row += corner) {
      std::uint64_t rows[corner];
      for (std::uint32_t i = 0; i < corner; ++i) std::memcpy(rows + i, bytes_of(row + i) + column, corner);
      turn(rows);
      for (std::uint32_t i = 0; i < corner; ++i) std::memcpy(turned_ + i * 128 + row, rows + i, corner);
    }
    for (std::uint32_t i = 0; i < std::min(corner, part.columns - column); ++i) {
      std::uint8_t* turned = turned_ + std::size_t{i} * 128;
      std::uint8_t* at = static_cast<std::uint8_t*>(matrix.columnwise.data) +
                         byte_at(part.column + column + i, part.row, matrix.rows, is_packed_);
      if (is_packed_) {
        pack(turned, part.rows, at);
      } else {
        std::memcpy(at, turned, part.rows);
      }
    }
  }
}

std::uint32_t MatrixPanel::quantise(const Matrix& matrix, const Part& part, float of_matrix) {
  load(matrix, part);
  const bool has_rows = matrix.rowwise.data != nullptr;
  const bool has_columns = matrix.columnwise.data != nullptr;
  const bool shares = shares_bytes(how_.scaling);
  if (shares) share_factor(matrix, part, of_matrix);
  if (has_rows || shares) {
    for (std::uint32_t row = 0; row < part.rows; ++row) {
      if (!shares) make_row_factors(matrix, part, row, of_matrix);
      cast(row, part.columns);
    }
  }
  if (has_rows) write_rows(matrix, part, matrix.rowwise.data);
  if (has_columns) {
    const std::uint32_t length = fp8::block_length(how_.scaling);
    for (std::uint32_t row = 0; row < part.rows && !shares; ++row) {
      if (row % length == 0) make_column_factors(matrix, part, row, of_matrix);
      cast(row, part.columns);
    }
    if (fp8::transposes(how_.scaling)) {
      write_turned(matrix, part);
    } else {
      write_rows(matrix, part, matrix.columnwise.data);
    }
  }
  return how_.scaling == Scaling::delayed && matrix.amax != nullptr ? amax_of(part) : 0;
}

// ---- the way back

void MatrixPanel::read_rows(const Matrix& matrix, const Part& part, const void* from) {
  const auto* bytes = static_cast<const std::uint8_t*>(from);
  for (std::uint32_t row = 0; row < part.rows; ++row) {
    const std::uint8_t* at = bytes + byte_at(part.row + row, part.column, matrix.columns, is_packed_);
    float* to = values_of(row);
    if (is_packed_) {
      for (std::uint32_t i = 0; i < part.columns; ++i) to[i] = value_of_byte_[at[i / 2] >> (i % 2 * 4) & 0xf];
    } else {
      for (std::uint32_t i = 0; i < part.columns; ++i) to[i] = value_of_byte_[at[i]];
    }
  }
}

void MatrixPanel::read_turned(const Matrix& matrix, const Part& part) {
  const auto* bytes = static_cast<const std::uint8_t*>(matrix.columnwise.data);
  for (std::uint32_t i = 0; i < part.columns; ++i) {
    const std::uint8_t* at = bytes + byte_at(part.column + i, part.row, matrix.rows, is_packed_);
    for (std::uint32_t row = 0; row < part.rows; ++row) {
      values_of(row)[i] = value_of_byte_[is_packed_ ? at[row / 2] >> (row % 2 * 4) & 0xf : at[row]];
    }
  }
}

/// What a row of the side that is read is multiplied by.
void MatrixPanel::find_factors(const Matrix& matrix, const Part& part, std::uint32_t row) {
  const float amax = how_.scaling == Scaling::nvfp4 ? *matrix.amax : 0;
  const std::uint64_t length = fp8::block_length(how_.scaling);
  const bool is_square = how_.scaling == Scaling::blockwise_2d;
  const bool by_rows = matrix.rowwise.data != nullptr;
  const std::uint32_t alike = length == 0 ? stride_ : is_square || by_rows ? static_cast<std::uint32_t>(length) : 1;
  for (std::uint32_t i = 0; i < part.columns; i += alike) {
    const std::uint64_t at_row = length == 0 ? 0 : is_square || !by_rows ? (part.row + row) / length : part.row + row;
    const std::uint64_t at_column = length == 0            ? 0
                                    : is_square || by_rows ? (part.column + i) / length
                                                           : part.column + i;
    const std::uint64_t at = by_rows ? rowwise_scale_at(matrix, at_row, at_column)
                                     : columnwise_scale_at(how_.scaling, matrix, at_row, at_column);
    const void* scales = by_rows ? matrix.rowwise.scales : matrix.columnwise.scales;
    const float factor = value_scale(how_.scaling, load_scale(how_.scaling, scales, at), amax);
    std::fill_n(factors_ + i, alike, factor);
  }
}

void MatrixPanel::dequantise(const Matrix& matrix, const Part& part) {
  if (matrix.rowwise.data != nullptr) {
    read_rows(matrix, part, matrix.rowwise.data);
  } else if (fp8::transposes(how_.scaling)) {
    read_turned(matrix, part);
  } else {
    read_rows(matrix, part, matrix.columnwise.data);
  }
  const auto size = static_cast<std::uint64_t>(size_of(matrix.dtype));
  auto* to = static_cast<unsigned char*>(matrix.values);
  const std::uint32_t length = fp8::block_length(how_.scaling);
  const bool change_in_rows = length != 0 && how_.scaling != Scaling::blockwise_2d;
  for (std::uint32_t row = 0; row < part.rows; ++row) {
    const bool is_next_block = change_in_rows && (matrix.rowwise.data != nullptr || row % length == 0);
    if (row == 0 || is_next_block) find_factors(matrix, part, row);
    const std::uint64_t at = (part.row + row) * matrix.columns + part.column;
    code_.narrow[static_cast<int>(matrix.dtype)](values_of(row), factors_, part.columns, to + at * size);
  }
}

}  // namespace tare::kernels::cpu
