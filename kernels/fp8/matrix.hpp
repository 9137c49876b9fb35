// Matrices that are quantised with scales found in their own values: how they lie in memory, and a block's scale from
// its amax. The arithmetic of each scaling stands in the file of its name.
//
//   scaling       a block is       scales   columnwise is                           framework's name
//   delayed       the whole        float    transposed                              NVTE_DELAYED_TENSOR_SCALING
//   current       the whole        float    transposed                              the same, by Float8CurrentScaling
//   mxfp8         1 x 32           E8M0     in rows as the values, blocks of 32 x 1 NVTE_MXFP8_1D_SCALING
//   blockwise_1d  1 x 128          float    transposed                              NVTE_BLOCK_SCALING_1D
//   blockwise_2d  128 x 128        float    transposed                              NVTE_BLOCK_SCALING_2D
//   nvfp4         1 x 16           E4M3     transposed, two values a byte           NVTE_NVFP4_1D_SCALING
//
// An amax sees no NaN: TransformerEngine 2.20 takes fmaxf and __hmax. (common/recipe/current_scaling.cu amax_kernel,
// common/cast/mxfp8/quantize_mxfp8.cuh, common/transpose/rtc/cast_transpose.cu, quantize_transpose_{vector,square}_
// blockwise.cu, common/cast/nvfp4/specialized/quantize_transpose_nvfp4_tuned_1D.cuh.)
#pragma once

#include <type_traits>

#include "kernels/element.hpp"
#include "kernels/fp8/blockwise.hpp"
#include "kernels/fp8/mxfp8.hpp"
#include "kernels/fp8/nvfp4.hpp"

namespace tare::kernels::fp8 {

enum class Scaling : std::int32_t { delayed, current, mxfp8, blockwise_1d, blockwise_2d, nvfp4 };

/// What values become.
enum class Format : std::int32_t { e4m3, e5m2, e2m1 };

/// Calls `with` with a std::integral_constant of it.
template <class With>
auto with_scaling(Scaling scaling, const With& with) {
  switch (scaling) {
    case Scaling::delayed:
      return with(std::integral_constant<Scaling, Scaling::delayed>());
    case Scaling::current:
      return with(std::integral_constant<Scaling, Scaling::current>());
    case Scaling::mxfp8:
      return with(std::integral_constant<Scaling, Scaling::mxfp8>());
    case Scaling::blockwise_1d:
      return with(std::integral_constant<Scaling, Scaling::blockwise_1d>());
    case Scaling::blockwise_2d:
      return with(std::integral_constant<Scaling, Scaling::blockwise_2d>());
    default:
      return with(std::integral_constant<Scaling, Scaling::nvfp4>());
  }
}

/// How matrices are quantised.
struct Quantisation {
  Scaling scaling;
  Format format;
  std::int32_t power_of_two;  ///< scales kept as floats are rounded down to one
  float epsilon;              ///< an amax is this at least
};

/// A matrix quantised along its rows, or along its columns. The scale of block (i, j) of the side as it lies in memory
/// is at i row_stride + j column_stride; both 0: without gaps.
struct Side {
  void* data;  ///< null: not wanted
  void* scales;
  std::uint64_t row_stride;
  std::uint64_t column_stride;
};

/// Laid out as the C ABI's `tare_matrix`; all of it is borrowed.
struct Matrix {
  std::uint64_t struct_size;
  void* values;  ///< row after row
  std::uint64_t rows;
  std::uint64_t columns;
  Dtype dtype;  ///< f32, f16 or bf16
  std::int32_t reserved;
  Side rowwise;
  Side columnwise;
  float* amax;
  float* scale;
};

/// Values that share a scale along a row; 0: all of a matrix.
TARE_HD constexpr std::uint32_t block_length(Scaling scaling) {
  switch (scaling) {
    case Scaling::mxfp8:
      return mx_block;
    case Scaling::blockwise_1d:
    case Scaling::blockwise_2d:
      return blockwise_block;
    case Scaling::nvfp4:
      return nvfp4_block;
    default:
      return 0;
  }
}

/// Whether what is kept has one scale for the whole matrix, or needs such a one before its blocks'.
TARE_HD constexpr bool looks_first(Scaling scaling) {
  return scaling == Scaling::current || scaling == Scaling::nvfp4;
}
TARE_HD constexpr bool transposes(Scaling scaling) {
  return scaling != Scaling::mxfp8;
}
TARE_HD constexpr std::uint32_t scale_bytes(Scaling scaling) {
  return scaling == Scaling::mxfp8 || scaling == Scaling::nvfp4 ? 1 : 4;
}

TARE_HD constexpr float largest_of(Format format) {
  return format == Format::e4m3 ? 448.0f : format == Format::e5m2 ? 57344.0f : f4_largest;
}

/// Bits of a magnitude as an amax takes it.
TARE_HD inline std::uint32_t amax_bits(float value) {
  const std::uint32_t bits = bits_of(value) & 0x7fffffffu;
  return bits > 0x7f800000u ? 0 : bits;
}

/// What a matrix is multiplied by, where all of it looks first.
TARE_HD inline float matrix_scale(const Quantisation& how, float amax) {
  if (how.scaling == Scaling::nvfp4) return nvfp4_tensor_scale(amax);
  return current_scale({how.power_of_two != 0, how.epsilon, FLT_MAX}, amax, largest_of(how.format));
}

/// What a block's values are multiplied by, and what is kept beside them.
struct BlockScale {
  float factor;
  std::uint32_t kept;
};

/// `of_matrix`: the scale of all of it, where there is one. `input`: the values' dtype.
TARE_HD inline BlockScale block_scale(const Quantisation& how, float amax, Dtype input, float of_matrix) {
  switch (how.scaling) {
    case Scaling::mxfp8: {
      const std::uint8_t kept = mxfp8_scale(amax, largest_of(how.format));
      return {inverse_of_e8m0(kept), kept};
    }
    case Scaling::blockwise_1d:
    case Scaling::blockwise_2d: {
      const float scale = blockwise_scale({how.power_of_two != 0, how.epsilon}, amax, largest_of(how.format), input);
      return {scale, bits_of(blockwise_scale_inverse(scale))};
    }
    case Scaling::nvfp4: {
      const std::uint8_t kept = nvfp4_block_scale(amax, of_matrix);
      return {nvfp4_factor(kept, of_matrix), kept};
    }
    default:
      return {of_matrix, bits_of(1.0f / of_matrix)};
  }
}

/// What a block's fp8 or fp4 is multiplied by to be values again. `amax`: the matrix's, of nvfp4.
TARE_HD inline float value_scale(Scaling scaling, std::uint32_t kept, float amax) {
  if (scaling == Scaling::mxfp8) return value_of_e8m0(static_cast<std::uint8_t>(kept));
  if (scaling == Scaling::nvfp4) return nvfp4_value_scale(static_cast<std::uint8_t>(kept), amax);
  return float_from(kept);
}

TARE_HD inline std::uint32_t load_scale(Scaling scaling, const void* scales, std::uint64_t index) {
  if (scale_bytes(scaling) == 1) return static_cast<const std::uint8_t*>(scales)[index];
  return static_cast<const std::uint32_t*>(scales)[index];
}
TARE_HD inline void store_scale(Scaling scaling, void* scales, std::uint64_t index, std::uint32_t kept) {
  if (scale_bytes(scaling) == 1) {
    static_cast<std::uint8_t*>(scales)[index] = static_cast<std::uint8_t>(kept);
  } else {
    static_cast<std::uint32_t*>(scales)[index] = kept;
  }
}

/// Where the scale of row block `i` and column block `j` of the values is; blocks are numbered as a side has them.
TARE_HD inline std::uint64_t rowwise_scale_at(const Matrix& matrix, std::uint64_t i, std::uint64_t j) {
  return i * matrix.rowwise.row_stride + j * matrix.rowwise.column_stride;
}
TARE_HD inline std::uint64_t columnwise_scale_at(Scaling scaling, const Matrix& matrix, std::uint64_t i,
                                                 std::uint64_t j) {
  const Side& side = matrix.columnwise;
  return transposes(scaling) ? j * side.row_stride + i * side.column_stride
                             : i * side.row_stride + j * side.column_stride;
}

TARE_HD constexpr std::uint64_t quotient_up(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

/// With strides where it has none.
inline Matrix with_strides(const Quantisation& how, Matrix matrix) {
  const std::uint64_t length = block_length(how.scaling);
  const auto fill = [](Side& side, std::uint64_t blocks_of_row) {
    if (side.row_stride != 0 || side.column_stride != 0) return;
    side.row_stride = blocks_of_row;
    side.column_stride = 1;
  };
  fill(matrix.rowwise, length == 0 ? 1 : quotient_up(matrix.columns, length));
  fill(matrix.columnwise, length == 0               ? 1
                          : transposes(how.scaling) ? quotient_up(matrix.rows, length)
                                                    : matrix.columns);
  return matrix;
}

/// A value as fp8 or fp4: to nearest even, beyond the largest is the largest. NaN is the format's without a sign, of
/// e2m1 6, as PTX's cvt.rn.satfinite has them.
template <Format F>
TARE_HD inline std::uint8_t quantised(float value) {
  if constexpr (F == Format::e2m1) {
    return e2m1_from(value);
  } else {
    using Narrow = std::conditional_t<F == Format::e4m3, F8E4m3fn, F8E5m2>;
    return is_nan(value) ? static_cast<std::uint8_t>(Narrow::nan) : cuda::saturated<Narrow>(value);
  }
}

/// Two of them, the first in the lower byte, or in the lower half of a byte.
template <Format F>
TARE_HD inline std::uint32_t quantised_pair(float lower, float upper) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  std::uint16_t pair;
  if constexpr (F == Format::e4m3) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(upper), "f"(lower));
    return pair;
  } else if constexpr (F == Format::e5m2) {
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(upper), "f"(lower));
    return pair;
  }
#endif
  const std::uint32_t upper_bits = quantised<F>(upper);
  return upper_bits << (F == Format::e2m1 ? 4 : 8) | quantised<F>(lower);
}

/// What fp8 or fp4 stands for: the exponents and mantissas of floats that are too small by the difference of the
/// biases.
template <Format F>
TARE_HD inline float value_of(std::uint8_t bits) {
  if constexpr (F == Format::e2m1) {
    return float_from(bits_of(float_from((bits & 0x7u) << 22) * 0x1p126f) | (bits & 0x8u) << 28);
  } else {
    constexpr bool is_e4m3 = F == Format::e4m3;
    const std::uint32_t magnitude = bits & 0x7fu;
    if (!is_e4m3 && magnitude >= F8E5m2::beyond) return widen<F8E5m2>(bits);
    if (is_e4m3 && magnitude == F8E4m3fn::nan) return float_from(0x7fffffffu);
    const float value = float_from(magnitude << (is_e4m3 ? 20 : 21)) * (is_e4m3 ? 0x1p120f : 0x1p112f);
    return float_from(bits_of(value) | (bits & 0x80u) << 24);
  }
}

/// fp8 or fp4 as a value, multiplied; a NaN becomes NVIDIA's.
template <Format F>
TARE_HD inline float dequantised(std::uint8_t bits, float by) {
  const float product = value_of<F>(bits) * by;
  return is_nan(product) ? float_from(0x7fffffffu) : product;
}
TARE_HD inline float dequantised(Format format, std::uint8_t bits, float by) {
  return format == Format::e4m3   ? dequantised<Format::e4m3>(bits, by)
         : format == Format::e5m2 ? dequantised<Format::e5m2>(bits, by)
                                  : dequantised<Format::e2m1>(bits, by);
}

}  // namespace tare::kernels::fp8
