// What PTX's instructions make of bits. Where CUDA makes one NaN, so does this; where PTX does not say which, it makes
// an unlikely one.
#pragma once

#include <cstdint>

#include "tests/gpu/ptx/program.hpp"

namespace tare::kernels::ptx {

inline std::uint64_t mask_of(int bits) {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}
inline std::int64_t signed_of(std::uint64_t value, int bits) {
  if (bits >= 64) return static_cast<std::int64_t>(value);
  return static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
}

/// Instructions of values alone: `operands` as many as the instruction has; the first result. Throws std::runtime_error
/// for what is undefined.
std::uint64_t computed(const Instruction& instruction, const std::uint64_t* operands);

}  // namespace tare::kernels::ptx
