// The greatest magnitudes of a patch's rows and of its columns, and of those that lanes hold together.
#pragma once

#include "kernels/cuda/matrix_patch.hpp"

namespace tare::kernels::cuda {

/// Eight of them, in the dtype's own bits: of 16 bits two in a word, the even one below.
template <class E>
struct Greatest {
  static constexpr int in_word = Patch<E>::in_word;
  static constexpr int count = patch_side / in_word;
  std::uint32_t words[count];

  /// Of row or column 2 k + odd.
  TARE_HD float value(int k, std::uint32_t odd) const {
    if constexpr (in_word == 1) {
      return float_from(odd != 0 ? words[2 * k + 1] : words[2 * k]);
    } else {
      return E::value(static_cast<typename E::Bits>(words[k] >> (odd * 16)));
    }
  }
  TARE_HD static std::uint32_t larger_words(std::uint32_t a, std::uint32_t b) {
    return in_word == 1 ? larger(a, b) : larger_pair(a, b);
  }
  /// Of all eight.
  TARE_HD float of_all() const {
    std::uint32_t word = words[0];
    unrolled<count>([&](int i) { word = larger_words(word, words[i]); });
    if constexpr (in_word == 1) {
      return float_from(word);
    } else {
      return E::value(static_cast<typename E::Bits>(larger(lower_half(word), upper_half(word))));
    }
  }
};

/// Of a lane's rows and columns.
template <class E>
struct Amaxes {
  Greatest<E> rows;
  Greatest<E> columns;
};

/// `magnitude(word)`: the magnitudes of its values.
template <class E, class Magnitude>
TARE_HD inline Amaxes<E> amaxes_with(const Patch<E>& patch, const Magnitude& magnitude) {
  using All = Greatest<E>;
  Amaxes<E> amaxes{};
  std::uint32_t of_row[patch_side] = {};
  unrolled<patch_side>([&](int r) {
    unrolled<All::count>([&](int w) {
      const std::uint32_t word = magnitude(patch.words[r][w]);
      of_row[r] = All::larger_words(of_row[r], word);
      amaxes.columns.words[w] = All::larger_words(amaxes.columns.words[w], word);
    });
  });
  unrolled<All::count>([&](int i) {
    if constexpr (All::in_word == 1) {
      amaxes.rows.words[i] = of_row[i];
    } else {
      const std::uint32_t even = of_row[2 * i];
      const std::uint32_t odd = of_row[2 * i + 1];
      amaxes.rows.words[i] = larger_pair(lower_half(even) | odd << 16, upper_half(even) | (odd & 0xffff0000u));
    }
  });
  return amaxes;
}

/// NaN is none.
template <class E>
TARE_HD inline Amaxes<E> amaxes_of(const Patch<E>& patch) {
  if constexpr (Patch<E>::in_word == 1) {
    return amaxes_with(patch, [](std::uint32_t word) { return fp8::amax_bits(float_from(word)); });
  } else {
    const Amaxes<E> amaxes = amaxes_with(patch, [](std::uint32_t word) { return word & 0x7fff7fffu; });
    std::uint32_t greatest = amaxes.rows.words[0];
    unrolled<Greatest<E>::count>([&](int i) { greatest = larger_pair(greatest, amaxes.rows.words[i]); });
    if (!any_from(greatest, first_infinite<E> + 1)) return amaxes;
    return amaxes_with(patch, [](std::uint32_t word) {
      const std::uint32_t lower = word & 0x7fffu;
      const std::uint32_t upper = word >> 16 & 0x7fffu;
      return (lower > first_infinite<E> ? 0 : lower) | (upper > first_infinite<E> ? 0 : upper) << 16;
    });
  }
}

/// Each lane's become those of the lanes whose numbers differ in the bits of `mask`, too.
template <class E, class At>
TARE_HD inline void join_greatest(int mask, const At& at) {
  for (int bit = 1; bit < warp_lanes; bit *= 2) {
    if ((mask & bit) == 0) continue;
    unrolled<Greatest<E>::count>([&](int w) {
      combine_across(
          bit, [&](int i) -> std::uint32_t& { return at(i).words[w]; },
          [](std::uint32_t a, std::uint32_t b) { return Greatest<E>::larger_words(a, b); });
    });
  }
}

}  // namespace tare::kernels::cuda
