// TensorBoard event files: scalars of torch's, TensorFlow's and tensorboardX's writers.
// Source: tensorflow/core/util/event.proto, framework/summary.proto, lib/io/record_writer.cc.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "lib/base/bytes.hpp"
#include "lib/trace/input.hpp"
#include "lib/trace/series/series.hpp"

namespace tare {

bool starts_like_event_file(ByteView head);

/// Rows that may still get a number: each tag of a step is an event of its own, and the next may come with the next
/// slice of a file that grows.
class OpenRows {
 public:
  /// What comes from now on stands in `path`; rows of another file get nothing more.
  void open(const std::string& path, Series& series);
  void put(std::int64_t step, std::uint64_t record, std::string_view tag, double value, Series& series);
  /// Adds them to the series as they are.
  void flush(Series& series);

 private:
  struct Row {
    SeriesRow row;
    std::string tags;
  };

  void pop(Series& series);

  std::string path_;
  std::deque<Row> rows_;
};

/// One file of a folder, behind those that are older, or its next slice. The last rows stay in `rows`.
void read_event_file(Input& input, Series& series, OpenRows& rows);

/// From `begin`, where a record begins. A damaged record ends it.
WholePart whole_event_records(const Source& file, std::uint64_t begin);

/// The time in the name, seconds: what TensorBoard orders the files of a folder by. 0 where there is none.
std::uint64_t event_file_time(std::string_view path);

}  // namespace tare
