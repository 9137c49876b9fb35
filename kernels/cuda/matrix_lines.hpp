// What a lane writes of a side, or reads: eight values of each of eight lines, a line being a row of the side as it
// lies in memory.
#pragma once

#include "kernels/cuda/matrices.hpp"

namespace tare::kernels::cuda {

/// Eight values of a side.
template <fp8::Format F>
struct Eight {
  static constexpr int bytes = F == fp8::Format::e2m1 ? 4 : 8;
  std::uint32_t words[bytes / 4];
};

/// Rows of a side as they lie in memory, of a matrix or of its transpose: eight values of each of eight.
template <fp8::Format F>
struct Lines {
  Eight<F> of[patch_side];
};

/// Lines from (row, column) of a side on that is `rows` x `columns`, so far as it goes.
template <fp8::Format F>
TARE_HD inline void store_lines(void* side, std::uint64_t rows, std::uint64_t columns, std::uint64_t row,
                                std::uint64_t column, const Lines<F>& lines) {
  constexpr std::uint32_t in_byte = patch_side / Eight<F>::bytes;
  const std::uint64_t pitch = columns / in_byte;
  auto* to = static_cast<std::uint8_t*>(side) + row * pitch + column / in_byte;
  const std::uint32_t height = left_of(rows, row, patch_side);
  const std::uint32_t width = left_of(columns, column, patch_side);
  if (height == patch_side && width == patch_side &&
      (reinterpret_cast<std::uintptr_t>(to) | pitch) % Eight<F>::bytes == 0) {
    unrolled<patch_side>([&](int i) {
      memcpy(__builtin_assume_aligned(to + static_cast<std::uint64_t>(i) * pitch, Eight<F>::bytes), lines.of[i].words,
             Eight<F>::bytes);
    });
    return;
  }
  unrolled<patch_side>([&](int i) {
    std::uint64_t bytes = lines.of[i].words[0];
    if constexpr (Eight<F>::bytes == 8) bytes |= std::uint64_t{lines.of[i].words[1]} << 32;
    rolled(static_cast<std::uint32_t>(i) < height ? width / in_byte : 0, [&](std::uint32_t j) {
      to[static_cast<std::uint64_t>(i) * pitch + j] = static_cast<std::uint8_t>(bytes >> (8 * j));
    });
  });
}

/// Four bytes of each of four words, transposed.
TARE_HD inline void turn_bytes(std::uint32_t& a, std::uint32_t& b, std::uint32_t& c, std::uint32_t& d) {
  const std::uint32_t ab_low = chosen_bytes(a, b, 0x5140);
  const std::uint32_t ab_high = chosen_bytes(a, b, 0x7362);
  const std::uint32_t cd_low = chosen_bytes(c, d, 0x5140);
  const std::uint32_t cd_high = chosen_bytes(c, d, 0x7362);
  a = chosen_bytes(ab_low, cd_low, 0x5410);
  b = chosen_bytes(ab_low, cd_low, 0x7632);
  c = chosen_bytes(ab_high, cd_high, 0x5410);
  d = chosen_bytes(ab_high, cd_high, 0x7632);
}

/// Lines of bytes, transposed.
template <fp8::Format F>
TARE_HD inline void turn(Lines<F>& lines) {
  static_assert(Eight<F>::bytes == 8);
  auto& of = lines.of;
  unrolled<2>([&](int word) {
    unrolled<2>([&](int at) {
      turn_bytes(of[4 * at].words[word], of[4 * at + 1].words[word], of[4 * at + 2].words[word],
                 of[4 * at + 3].words[word]);
    });
  });
  unrolled<4>([&](int i) {
    const std::uint32_t upper_right = of[i].words[1];
    of[i].words[1] = of[4 + i].words[0];
    of[4 + i].words[0] = upper_right;
  });
}

/// What store_lines stored, a byte a value; zeros where the side has none.
template <fp8::Format F>
TARE_HD inline Lines<fp8::Format::e4m3> load_lines(const void* side, std::uint64_t rows, std::uint64_t columns,
                                                   std::uint64_t row, std::uint64_t column) {
  constexpr std::uint32_t size = Eight<F>::bytes;
  constexpr std::uint32_t in_byte = patch_side / size;
  const std::uint64_t pitch = columns / in_byte;
  const auto* from = static_cast<const std::uint8_t*>(side) + row * pitch + column / in_byte;
  const std::uint32_t height = left_of(rows, row, patch_side);
  const std::uint32_t width = left_of(columns, column, patch_side);
  const bool is_plain =
      height == patch_side && width == patch_side && (reinterpret_cast<std::uintptr_t>(from) | pitch) % size == 0;
  Lines<fp8::Format::e4m3> lines;
  unrolled<patch_side>([&](int i) {
    auto& words = lines.of[i].words;
    const std::uint8_t* line = from + static_cast<std::uint64_t>(i) * pitch;
    std::uint64_t bytes = 0;
    if (is_plain) {
      memcpy(&bytes, __builtin_assume_aligned(line, size), size);
    } else {
      rolled(static_cast<std::uint32_t>(i) < height ? width / in_byte : 0,
             [&](std::uint32_t j) { bytes |= std::uint64_t{line[j]} << (8 * j); });
    }
    words[0] = static_cast<std::uint32_t>(bytes);
    words[1] = static_cast<std::uint32_t>(bytes >> 32);
    if constexpr (F == fp8::Format::e2m1) {
      const std::uint32_t lower = words[0] & 0x0f0f0f0fu;
      const std::uint32_t upper = words[0] >> 4 & 0x0f0f0f0fu;
      words[0] = chosen_bytes(lower, upper, 0x5140);
      words[1] = chosen_bytes(lower, upper, 0x7362);
    }
  });
  return lines;
}

}  // namespace tare::kernels::cuda
