// The boundary between quantising matrices and the code made for one instruction set; as piece.hpp, without a body.
//
// Rows of a panel are floats with room for whole vectors, as are the bytes that come of them: what is done with `count`
// values is done up to the next multiple of panel_step, of which the values are zeros.
#pragma once

#include <cstdint>

#include "kernels/cpu/piece.hpp"

namespace tare::kernels::cpu {

inline constexpr std::uint32_t panel_step = 16;
inline constexpr int formats = 3;  // as fp8::Format numbers them

struct PanelTable {
  /// Elements as floats, and zeros behind them. By dtype: f32, f16 and bf16.
  void (*widen[dtype_ids])(const void* from, std::uint32_t count, float* to);
  /// Bits of the greatest magnitude that is no NaN.
  std::uint32_t (*amax)(const float* values, std::uint32_t count);
  /// Likewise of each column.
  void (*raise)(const float* values, std::uint32_t count, std::uint32_t* amax);
  /// Times its factor, each becomes a byte; those of e2m1 are not packed.
  void (*cast[formats])(const float* values, const float* factors, std::uint32_t count, std::uint8_t* to);
  /// Times its factor, each becomes an element of that dtype, and no more than `count`.
  void (*narrow[dtype_ids])(const float* values, const float* factors, std::uint32_t count, void* to);
};

extern const PanelTable portable_panels;
#if defined(__x86_64__)
extern const PanelTable sse4_panels;
extern const PanelTable avx2_panels;
extern const PanelTable avx512_panels;
#elif defined(__aarch64__)
extern const PanelTable neon_panels;
extern const PanelTable sve256_panels;  ///< not in every build: see instruction_set.hpp
#endif

}  // namespace tare::kernels::cpu
