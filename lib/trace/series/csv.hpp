// Tables of comma-separated values: Lightning's, DeepSpeed's monitor's, Keras's, a trainer's own.
#pragma once

#include "lib/base/bytes.hpp"
#include "lib/trace/input.hpp"
#include "lib/trace/series/series.hpp"

namespace tare {

/// The first line names two columns at least, one of them a scale.
bool starts_like_csv(ByteView head, const Series& series);

void read_csv(Input& input, Series& series);

}  // namespace tare
