#include "lib/monitor/event_record.hpp"

#include <array>
#include <span>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/base/crc32c.hpp"

namespace tare::monitor {
namespace {

template <class Number>
void append(std::string& to, Number number) {
  std::array<std::byte, sizeof number> bytes;
  store(bytes.data(), number, std::endian::little);
  to.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

/// A message of protobuf's, field by field.
class Message {
 public:
  Message& add_integer(unsigned field, std::int64_t value) {
    put_varint(field << 3);
    put_varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& add_double(unsigned field, double value) {
    put_varint(field << 3 | 1);
    append(bytes_, value);
    return *this;
  }
  Message& add_float(unsigned field, float value) {
    put_varint(field << 3 | 5);
    append(bytes_, value);
    return *this;
  }
  /// Text, or another message.
  Message& add_bytes(unsigned field, std::string_view bytes) {
    put_varint(field << 3 | 2);
    put_varint(bytes.size());
    bytes_ += bytes;
    return *this;
  }
  Message& add_doubles(unsigned field, std::span<const double> values) {
    std::string packed;
    for (const double value : values) append(packed, value);
    return add_bytes(field, packed);
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void put_varint(std::uint64_t value) {
    for (; value > 0x7f; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

std::uint32_t checksum(std::string_view bytes) {
  return masked_crc32c(std::as_bytes(std::span(bytes)));
}

/// Length, its checksum, the event, its checksum.
std::string framed(const Message& event) {
  const std::string& bytes = event.bytes();
  std::string record;
  append(record, static_cast<std::uint64_t>(bytes.size()));
  append(record, checksum(record));
  record += bytes;
  append(record, checksum(bytes));
  return record;
}

Message event_of(double wall_time, std::int64_t step) {
  Message event;
  return event.add_double(1, wall_time).add_integer(2, step);
}

/// What a histogram of TensorBoard's has besides its bins.
struct Moments {
  double least = 0;
  double greatest = 0;
  double count = 0;
  double sum = 0;
  double sum_of_squares = 0;

  /// As if all lay in the middle of an octave.
  void add(double upper_end, double more) {
    if (more == 0) return;
    if (count == 0) least = upper_end - 1;
    greatest = upper_end;
    const double middle = upper_end - 0.5;
    count += more;
    sum += more * middle;
    sum_of_squares += more * middle * middle;
  }
};

}  // namespace

void EventSummary::add_scalar(std::string_view tag, double number) {
  Message value;
  value.add_bytes(1, tag).add_float(2, static_cast<float>(number));
  bytes_ += Message().add_bytes(1, value.bytes()).bytes();
}

void EventSummary::add_exponents(std::string_view tag, const ExponentHistogram& exponents) {
  std::vector<double> counts{static_cast<double>(exponents.below)};
  for (const std::uint64_t count : exponents.bins) counts.push_back(static_cast<double>(count));
  counts.push_back(static_cast<double>(exponents.above));
  std::vector<double> ends;  // upper ones
  Moments moments;
  for (const double count : counts) {
    ends.push_back(ExponentHistogram::lowest + static_cast<double>(ends.size()));
    moments.add(ends.back(), count);
  }
  Message histogram;
  histogram.add_double(1, moments.least).add_double(2, moments.greatest).add_double(3, moments.count);
  histogram.add_double(4, moments.sum).add_double(5, moments.sum_of_squares);
  histogram.add_doubles(6, ends).add_doubles(7, counts);
  Message value;
  value.add_bytes(1, tag).add_bytes(5, histogram.bytes());
  bytes_ += Message().add_bytes(1, value.bytes()).bytes();
}

std::string version_record(double wall_time) {
  return framed(Message().add_double(1, wall_time).add_bytes(3, "brain.Event:2"));
}

std::string start_record(double wall_time, std::int64_t step) {
  constexpr int start = 1;
  return framed(event_of(wall_time, step).add_bytes(7, Message().add_integer(1, start).bytes()));
}

std::string summary_record(double wall_time, std::int64_t step, const EventSummary& summary) {
  return framed(event_of(wall_time, step).add_bytes(5, summary.bytes()));
}

}  // namespace tare::monitor
