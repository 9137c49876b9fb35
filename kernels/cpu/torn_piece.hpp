// A piece in which a value is not finite, looked at once more while it is in the cache.
#pragma once

#include "kernels/finite_values.hpp"
#include "kernels/fold.hpp"

namespace tare::kernels::cpu {

/// The sum is taken in the order of the elements: the same in every bit on every machine.
FiniteValues finite_values(const Piece& piece);

}  // namespace tare::kernels::cpu
