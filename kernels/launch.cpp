#include "kernels/launch.hpp"

#include <algorithm>

namespace tare::kernels {

void merge(Statistics& into, const Statistics& more) {
  // As integers: NaN above infinity above the rest, whichever comes first.
  into.max_abs = double_from(std::max(bits_of(into.max_abs), bits_of(more.max_abs)));
  into.sum_of_squares += more.sum_of_squares;
  if (into.max_abs != into.max_abs) into.sum_of_squares = into.max_abs;  // one NaN, of the same bits on every machine
  into.count += more.count;
  into.zeros += more.zeros;
  into.below += more.below;
}

}  // namespace tare::kernels
