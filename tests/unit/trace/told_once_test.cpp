// What lines and reports tell twice counts once.
#include "lib/trace/told_once.hpp"

#include "tests/catch.hpp"

using namespace tare;

namespace {

TraceStep line() {
  TraceStep step;
  step.overflow = true;
  return step;
}

TraceStep report(std::int64_t number, std::uint64_t span, std::uint64_t skipped) {
  TraceStep step;
  step.step = number;
  step.span = span;
  step.skipped = skipped;
  return step;
}

Trace of_one_log() {
  Trace trace;
  trace.sources = {{"a.log", "deepspeed-log", ""}, {"a.log", "megatron-log", ""}, {"b.log", "deepspeed-log", ""}};
  return trace;
}

}  // namespace

TEST_CASE("of a report remains what no line in front of it has told") {
  const Trace trace = of_one_log();
  ToldOnce once(trace);
  CHECK(once.rest_of(line()).span == 1);
  CHECK(once.rest_of(line()).span == 1);
  const TraceStep clean = once.rest_of(report(10, 10, 2));
  CHECK(clean.span == 8);
  CHECK(clean.skipped == 0U);
  CHECK(clean.overflow == false);
  CHECK(once.rest_of(line()).overflow == true);
  const TraceStep both = once.rest_of(report(20, 10, 3));
  CHECK(both.span == 9);
  CHECK(both.skipped == 2U);
  CHECK_FALSE(both.overflow.has_value());
  CHECK(once.rest_of(report(30, 10, 3)).skipped == 3U);
}

TEST_CASE("a report of steps that lines have told one by one tells nothing more") {
  const Trace trace = of_one_log();
  ToldOnce once(trace);
  for (int i = 0; i < 12; ++i) CHECK(once.rest_of(line()).span == 1);
  CHECK(once.rest_of(report(10, 10, 10)).span == 0);
  CHECK(once.rest_of(report(20, 10, 10)).span == 10);
}

TEST_CASE("lines count in the reports of their own file and their own start of the run") {
  const Trace trace = of_one_log();
  ToldOnce once(trace);
  TraceStep later = report(10, 10, 1);
  later.source = 1;
  CHECK(once.rest_of(line()).span == 1);
  CHECK(once.rest_of(later).span == 9);
  CHECK(once.rest_of(line()).span == 1);
  later.source = 2;
  CHECK(once.rest_of(later).span == 10);
  CHECK(once.rest_of(line()).span == 1);
  later.source = 0;
  later.segment = 1;
  CHECK(once.rest_of(later).span == 10);
}
