// What the range of a format cost a tensor's gradients, and what of it is left.
#pragma once

#include <optional>

#include "kernels/statistics.hpp"

namespace tare::monitor {

/// What gradients were computed in, whatever they are kept in now.
enum class Format { f16, bf16 };

/// The share of values that became zero because f16 has nothing smaller than 2^-24, or would (a threshold of at most
/// 2^-24 counts those as `below`). Not all zeros are such: embeddings and dead units have zeros of their own. With a
/// threshold above 2^-24, `below` tells how many values lie just above the bottom, and no more zeros are told than as
/// many values as would lie under it by that: near / (nonzero - near) of the nonzero ones, which bounds it for values
/// whose logarithms are about normal. Nothing is lost to bf16, whose exponents are a float's; nothing is told where all
/// are zero, or any is not finite.
std::optional<double> lost_share(const kernels::Statistics& seen, double threshold, Format format);

/// Doublings of the greatest magnitude that the format takes; nothing for zero, and for what is not finite.
std::optional<double> headroom_bits(double max_abs, Format format);

}  // namespace tare::monitor
