// The forms in which TensorBoard's writers tell a number, and what stands between them.
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/unit/trace/event_file.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;
using namespace tare::test;

namespace {

constexpr std::uint64_t float_type = 1, double_type = 2, int32_type = 3;

/// A TensorProto of one element, as tf.summary.scalar writes it, in a Value.
template <typename Add>
Bytes tensor_of(std::uint64_t type, const Add& add) {
  Bytes tensor, value;
  add_number(tensor, 1, type);
  add(tensor);
  add_run(value, 8, tensor);
  return value;
}

template <typename Number>
Bytes contents(std::initializer_list<Number> numbers) {
  Bytes bytes;
  for (const Number number : numbers) append_le(bytes, number);
  return bytes;
}

/// SessionLog.START, as a SummaryWriter with purge_step begins its file.
std::string start_at(std::int64_t step) {
  Bytes log, record;
  add_number(log, 1, 1);
  add_number(record, 2, static_cast<std::uint64_t>(step));
  add_run(record, 7, log);
  return tf_record(record);
}

Trace trace_of_events(const std::string& events) {
  return trace_of({{"events.out.tfevents.1", events}});
}

}  // namespace

TEST_CASE("a scale is told in each form that a float or a double has in a tensor") {
  const std::vector<std::pair<std::string, Bytes>> forms = {
      {"float, its bytes", tensor_of(float_type, [](Bytes& to) { add_run(to, 4, contents({1024.0F})); })},
      {"double, its bytes", tensor_of(double_type, [](Bytes& to) { add_run(to, 4, contents({1024.0})); })},
      {"float, listed", tensor_of(float_type, [](Bytes& to) { add_fixed(to, 5, 1024.0F); })},
      {"float, packed", tensor_of(float_type, [](Bytes& to) { add_run(to, 5, contents({1024.0F})); })},
      {"double, listed", tensor_of(double_type, [](Bytes& to) { add_fixed(to, 6, 1024.0); })},
      {"double, packed", tensor_of(double_type, [](Bytes& to) { add_run(to, 6, contents({1024.0})); })},
  };
  for (const auto& [name, value] : forms) {
    INFO(name);
    const Trace trace = trace_of_events(event_with(7, "train/loss_scale", value));
    REQUIRE(trace.steps.size() == 1);
    CHECK((*trace.steps.begin()).step == 7);
    CHECK((*trace.steps.begin()).after == 1024.0);
  }
}

TEST_CASE("a double that no float holds is told as it is") {
  const Bytes value = tensor_of(double_type, [](Bytes& to) { add_run(to, 4, contents({1e300})); });
  const Trace trace = trace_of_events(event_with(1, "loss_scale", value));
  REQUIRE(trace.steps.size() == 1);
  CHECK((*trace.steps.begin()).after == 1e300);
}

TEST_CASE("tensors of several elements, of other types or sizes are no number") {
  const std::vector<std::pair<std::string, Bytes>> none = {
      {"two floats", tensor_of(float_type,
                               [](Bytes& to) {
                                 add_run(to, 4, contents({1024.0F, 2.0F}));
                               })},
      {"eight bytes of a float", tensor_of(float_type, [](Bytes& to) { add_run(to, 4, contents({1024.0})); })},
      {"four bytes of a double", tensor_of(double_type, [](Bytes& to) { add_run(to, 4, contents({1024.0F})); })},
      {"an int", tensor_of(int32_type, [](Bytes& to) { add_run(to, 4, contents({std::int32_t{1024}})); })},
      {"nothing", tensor_of(float_type, [](Bytes&) {})},
  };
  for (const auto& [name, value] : none) {
    INFO(name);
    const Trace trace = trace_of_events(event_with(1, "loss_scale", value) + event(2, "loss_scale", 8.0F));
    REQUIRE(trace.steps.size() == 1);
    CHECK((*trace.steps.begin()).step == 2);
  }
}

TEST_CASE("a record of an image, however large, is passed over, and what stands behind it is told") {
  Bytes image;
  add_run(image, 4, Bytes((std::size_t{1} << 20) + 70'000, std::byte{7}));
  const std::string before = event(1, "loss_scale", 4.0F), after = event(2, "loss_scale", 8.0F);
  const std::string picture = event_with(1, "sample", image);
  const Trace trace = trace_of_events(before + picture + after);
  REQUIRE(trace.steps.size() == 2);
  CHECK(trace.warnings.empty());
  const Trace cut = trace_of_events(before + picture.substr(0, picture.size() - 1));
  CHECK(cut.steps.size() == 1);
  REQUIRE(cut.warnings.size() == 1);
  CHECK(cut.warnings[0].code == "truncated");
}

TEST_CASE("a writer that starts again at a step takes back what was told from there on") {
  std::string events;
  for (int step = 1; step <= 6; ++step) events += event(step, "loss_scale", 1024.0F);
  events += start_at(4);
  for (int step = 4; step <= 8; ++step) events += event(step, "loss_scale", 512.0F);
  const Trace trace = trace_of_events(events);
  REQUIRE(trace.segments.size() == 2);
  CHECK(trace.segments[0].kept == 3);
  CHECK(trace.segments[1].last == 8);
}

TEST_CASE("the same tag at the same step again is a new start, and both are told") {
  const Trace trace = trace_of_events(event(1, "loss_scale", 4.0F) + event(2, "loss_scale", 8.0F) +
                                      event(1, "loss_scale", 16.0F) + event(2, "loss_scale", 32.0F));
  CHECK(trace.segments.size() == 2);
  CHECK(trace.steps.size() == 4);
}
