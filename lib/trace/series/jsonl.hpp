// Lines of JSON, one object each: a trainer's own, detectron2's metrics.json, mmengine's scalars.json, BEiT's log.txt,
// W&B's exports.
#pragma once

#include "lib/base/bytes.hpp"
#include "lib/trace/input.hpp"
#include "lib/trace/series/series.hpp"

namespace tare {

/// The first line that is not empty is a whole object of JSON, and none of a container runtime's log.
bool starts_like_json_lines(ByteView head);

void read_json_lines(Input& input, Series& series);

}  // namespace tare
