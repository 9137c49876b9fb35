// The records of TensorBoard's event files: protobuf in TFRecords.
//
//   Event         1 wall_time double  2 step int64  3 file_version  5 Summary  7 SessionLog
//   Summary       1 Value, repeated
//   Value         1 tag  2 simple_value float  5 HistogramProto
//   HistogramProto  1 min  2 max  3 num  4 sum  5 sum_squares  6 bucket_limit[]  7 bucket[], all double
//   SessionLog    1 status: 1 is START, behind which a reader forgets steps from its own on
//   (tensorboard/compat/proto/{event,summary,histogram}.proto)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/monitor/summary.hpp"

namespace tare::monitor {

/// The values of one step.
class EventSummary {
 public:
  void add_scalar(std::string_view tag, double value);
  /// The exponents of magnitudes, as a histogram of log2|x|. What lies beyond its ends is put at them.
  void add_exponents(std::string_view tag, const ExponentHistogram& exponents);

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Records, with their frames.
std::string version_record(double wall_time);
std::string start_record(double wall_time, std::int64_t step);
std::string summary_record(double wall_time, std::int64_t step, const EventSummary& summary);

}  // namespace tare::monitor
