// TensorBoard event files: scalars of torch's, TensorFlow's and tensorboardX's writers.
// Source: tensorflow/core/util/event.proto, framework/summary.proto, lib/io/record_writer.cc.
#pragma once

#include "lib/base/bytes.hpp"
#include "lib/trace/input.hpp"
#include "lib/trace/series/series.hpp"

namespace tare {

bool starts_like_event_file(ByteView head);

/// One file of a folder, behind those that are older.
void read_event_file(Input& input, Series& series);

/// From `begin`, where a record begins. A damaged record ends it.
WholePart whole_event_records(const Source& file, std::uint64_t begin);

/// The time in the name, seconds: what TensorBoard orders the files of a folder by. 0 where there is none.
std::uint64_t event_file_time(std::string_view path);

}  // namespace tare
