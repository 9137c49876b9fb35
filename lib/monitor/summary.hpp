// What follows from a tensor's summary.
#pragma once

#include "kernels/summary.hpp"

namespace tare::monitor {

using kernels::ExponentHistogram;
using kernels::Summary;

/// Of the whole population, as numpy's std(): 0 where nothing is finite.
double deviation(const Summary& summary);
double norm(const Summary& summary);

}  // namespace tare::monitor
