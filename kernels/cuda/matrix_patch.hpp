// What a lane holds of a matrix's values, in registers: 8 rows of 8, as they lie in memory.
#pragma once

#include "kernels/cuda/matrices.hpp"

namespace tare::kernels::cuda {

template <class E>
struct Patch {
  using Bits = typename E::Bits;
  static constexpr int in_word = static_cast<int>(sizeof(std::uint32_t) / sizeof(Bits));
  static constexpr int words_of_row = patch_side / in_word;
  std::uint32_t words[patch_side][words_of_row];

  /// Of a NaN any NaN.
  TARE_HD float value(int row, int column) const {
    const std::uint32_t word = words[row][column / in_word];
    if constexpr (in_word == 1) {
      return float_from(word);
    } else {
      float lower;
      float upper;
      widen_pair<E>(word, lower, upper);
      return column % 2 == 0 ? lower : upper;
    }
  }
};

/// The first `count` elements of 8 bytes of them, and zeros. A loop: what is rare shall not be in the way of what is
/// not.
template <class Bits>
TARE_HD inline std::uint64_t load_some(const unsigned char* from, std::uint32_t count) {
  std::uint64_t words = 0;
  rolled(count, [&](std::uint32_t i) {
    Bits bits;
    memcpy(&bits, __builtin_assume_aligned(from + i * sizeof bits, sizeof bits), sizeof bits);
    words |= static_cast<std::uint64_t>(bits) << (i * 8 * sizeof bits);
  });
  return words;
}

template <class Bits>
TARE_HD inline void store_some(unsigned char* to, std::uint32_t count, std::uint64_t words) {
  rolled(count, [&](std::uint32_t i) {
    const auto bits = static_cast<Bits>(words >> (i * 8 * sizeof(Bits)));
    memcpy(__builtin_assume_aligned(to + i * sizeof bits, sizeof bits), &bits, sizeof bits);
  });
}

/// Zeros where the matrix has no values.
template <class E>
TARE_HD inline Patch<E> load_patch(const fp8::Matrix& matrix, std::uint64_t row, std::uint64_t column) {
  using Bits = typename E::Bits;
  Patch<E> patch;
  const std::uint64_t pitch = matrix.columns * sizeof(Bits);
  const auto* from = static_cast<const unsigned char*>(matrix.values) + row * pitch + column * sizeof(Bits);
  const std::uint32_t rows = left_of(matrix.rows, row, patch_side);
  const std::uint32_t columns = left_of(matrix.columns, column, patch_side);
  if (rows == patch_side && columns == patch_side &&
      (reinterpret_cast<std::uintptr_t>(from) | pitch) % vector_bytes == 0) {
    unrolled<patch_side>([&](int r) {
      unrolled<Patch<E>::words_of_row / 4>([&](int v) {
        const Vector vector =
            load_vector(from + static_cast<std::uint64_t>(r) * pitch + static_cast<std::uint32_t>(v) * vector_bytes);
        unrolled<4>([&](int w) { patch.words[r][4 * v + w] = vector.words[w]; });
      });
    });
    return patch;
  }
  constexpr int in_double = static_cast<int>(sizeof(std::uint64_t) / sizeof(Bits));
  unrolled<patch_side>([&](int r) {
    const std::uint32_t count = static_cast<std::uint32_t>(r) < rows ? columns : 0;
    unrolled<patch_side / in_double>([&](int d) {
      const auto first = static_cast<std::uint32_t>(d * in_double);
      const std::uint64_t words = load_some<Bits>(from + static_cast<std::uint64_t>(r) * pitch + first * sizeof(Bits),
                                                  left_of(count, first, in_double));
      patch.words[r][2 * d] = static_cast<std::uint32_t>(words);
      patch.words[r][2 * d + 1] = static_cast<std::uint32_t>(words >> 32);
    });
  });
  return patch;
}

/// Where the matrix has values.
template <class E>
TARE_HD inline void store_patch(const fp8::Matrix& matrix, std::uint64_t row, std::uint64_t column,
                                const Patch<E>& patch) {
  using Bits = typename E::Bits;
  constexpr int in_double = static_cast<int>(sizeof(std::uint64_t) / sizeof(Bits));
  const std::uint64_t pitch = matrix.columns * sizeof(Bits);
  auto* to = static_cast<unsigned char*>(matrix.values) + row * pitch + column * sizeof(Bits);
  const std::uint32_t rows = left_of(matrix.rows, row, patch_side);
  const std::uint32_t columns = left_of(matrix.columns, column, patch_side);
  if (rows == patch_side && columns == patch_side &&
      (reinterpret_cast<std::uintptr_t>(to) | pitch) % vector_bytes == 0) {
    unrolled<patch_side>([&](int r) {
      memcpy(__builtin_assume_aligned(to + static_cast<std::uint64_t>(r) * pitch, vector_bytes), patch.words[r],
             sizeof patch.words[r]);
    });
    return;
  }
  unrolled<patch_side>([&](int r) {
    const std::uint32_t count = static_cast<std::uint32_t>(r) < rows ? columns : 0;
    unrolled<patch_side / in_double>([&](int d) {
      const auto first = static_cast<std::uint32_t>(d * in_double);
      store_some<Bits>(to + static_cast<std::uint64_t>(r) * pitch + first * sizeof(Bits),
                       left_of(count, first, in_double),
                       std::uint64_t{patch.words[r][2 * d + 1]} << 32 | patch.words[r][2 * d]);
    });
  });
}

}  // namespace tare::kernels::cuda
