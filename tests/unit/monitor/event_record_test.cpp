// Records of event files, byte by byte.
#include "lib/monitor/event_record.hpp"

#include <string>

#include "lib/base/bytes.hpp"
#include "lib/base/crc32c.hpp"
#include "tests/catch.hpp"

using namespace tare;
using namespace tare::monitor;

namespace {

std::uint32_t number_at(const std::string& text, std::size_t at) {
  return load_le<std::uint32_t>(reinterpret_cast<const std::byte*>(text.data()) + at);
}

std::uint32_t checksum(const std::string& text) {
  return masked_crc32c(std::as_bytes(std::span(text)));
}

/// What stands between the frame's parts, which hold.
std::string event_of(const std::string& record) {
  REQUIRE(record.size() >= 16);
  const std::string length = record.substr(0, 8);
  const std::string event = record.substr(12, record.size() - 16);
  CHECK(load_le<std::uint64_t>(reinterpret_cast<const std::byte*>(length.data())) == event.size());
  CHECK(number_at(record, 8) == checksum(length));
  CHECK(number_at(record, record.size() - 4) == checksum(event));
  return event;
}

}  // namespace

TEST_CASE("an event file begins as TensorFlow's do") {
  // tensorboard.summary.writer.EventFileWriter's first record for wall_time = 1.5, but for its source metadata.
  const std::string wanted = std::string("\x09\0\0\0\0\0\0\xf8\x3f", 9) + "\x1a\x0d" + "brain.Event:2";
  CHECK(event_of(version_record(1.5)) == wanted);
}

TEST_CASE("a scalar is a tag and a float") {
  EventSummary summary;
  summary.add_scalar("loss-scale", 2);
  const std::string value = std::string("\x0a\x0aloss-scale\x15\0\0\0\x40", 17);
  CHECK(summary.bytes() == "\x0a\x11" + value);
  CHECK(event_of(summary_record(1.5, 300, summary)) ==
        std::string("\x09\0\0\0\0\0\0\xf8\x3f\x10\xac\x02\x2a\x13", 14) + summary.bytes());
}

TEST_CASE("a start says that steps from its own on are told anew") {
  CHECK(event_of(start_record(1.5, 7)) == std::string("\x09\0\0\0\0\0\0\xf8\x3f\x10\x07\x3a\x02\x08\x01", 15));
  const std::string negative = event_of(start_record(0, -1));
  CHECK(negative.substr(9, 11) == "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}
