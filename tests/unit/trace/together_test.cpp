// Several sources of one run: one trace, nothing counted twice, and what contradicts told.
#include <fmt/format.h>

#include <limits>

#include "lib/trace/together.hpp"
#include "tests/catch.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;

namespace {

std::string warning(const Trace& trace, std::string_view code) {
  for (const TraceWarning& warning : trace.warnings) {
    if (warning.code == code) return warning.text;
  }
  return {};
}

/// Megatron's line of every tenth step: 64 halves at step 20.
std::string log_of(int from, int to, double first = 64) {
  std::string text;
  for (int step = from; step <= to; step += 10) {
    text += fmt::format(
        " iteration {:8d}/    1000 | consumed samples: 640 | lm loss: 3.0E+00 | loss scale: {:.1f} | number of skipped "
        "iterations: {:3d} | number of nan iterations:   0 |\n",
        step, step < 20 ? first : first / 2, step == 20 ? 1 : 0);
  }
  return text;
}

/// A row a step; `shift`: what a trainer that counts from 0 takes off.
std::string table_of(int from, int to, int shift = 0) {
  std::string text = "step,loss_scale\n";
  for (int step = from; step <= to; ++step) text += fmt::format("{},{}\n", step - shift, step < 20 ? 64 : 32);
  return text;
}

}  // namespace

TEST_CASE("a table and a log of one run are one trace, and each step is told once") {
  const Trace trace = trace_of({{"log.txt", log_of(10, 60)}, {"metrics.csv", table_of(1, 60)}});
  CHECK(warning(trace, "sources-disagree").empty());
  CHECK_THAT(warning(trace, "other-source"), Catch::Contains("6 steps, too; 6 agree"));
  const auto steps = steps_of(trace);
  REQUIRE(steps.size() == 60);
  CHECK(steps[0].overflow == false);  // the log counts none in its interval
  CHECK_FALSE(steps[15].overflow);    // it counts one of ten
  CHECK(steps[59].overflow == false);
  CHECK(steps[59].loss == 3.0F);
}

TEST_CASE("what one source alone tells, in front or behind, is taken over") {
  const Trace trace = trace_of({{"log.txt", log_of(10, 100)}, {"metrics.csv", table_of(31, 60)}});
  const auto steps = steps_of(trace);
  REQUIRE(steps.size() == 3 + 30 + 4);
  CHECK(steps.front().step == 10);
  CHECK(steps.back().step == 100);
  CHECK(trace.segments.front().first == 10);
  CHECK(trace.segments.back().kept == 100);
  CHECK_THAT(warning(trace, "other-source"), Catch::Contains("7 were told of here alone"));
}

TEST_CASE("a source that counts from 0 agrees with one that counts from 1") {
  const Trace trace = trace_of({{"log.txt", log_of(10, 60)}, {"metrics.csv", table_of(1, 60, 1)}});
  CHECK(warning(trace, "sources-disagree").empty());
  CHECK(steps_of(trace).size() == 60);
}

TEST_CASE("a source that contradicts is told with the first place, and nothing is taken from it") {
  const Trace trace = trace_of({{"log.txt", log_of(10, 100, 512)}, {"metrics.csv", table_of(1, 60)}});
  CHECK_THAT(warning(trace, "sources-disagree"), Catch::Contains("of step 10") && Catch::Contains("512.0"));
  CHECK_THAT(warning(trace, "other-source"), Catch::Contains("as of another run"));
  CHECK(steps_of(trace).size() == 60);
}

TEST_CASE("that a source without a step in common is of the run is taken on trust, and said to be") {
  const Trace trace = trace_of({{"log.txt", log_of(110, 160)}, {"metrics.csv", table_of(1, 60)}});
  CHECK_THAT(warning(trace, "other-source"), Catch::Contains("of this run is taken on trust, and 6 were told of here"));
  CHECK(steps_of(trace).size() == 66);
}

TEST_CASE("the exception that a log ends with ends the trace, whichever source tells most") {
  const std::string exception =
      "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.\n";
  const Trace trace = trace_of({{"log.txt", log_of(10, 60) + exception}, {"metrics.csv", table_of(1, 60)}});
  const auto steps = steps_of(trace);
  REQUIRE(steps.size() == 61);
  CHECK(trace.sources[steps.back().source].path == "run/log.txt");
  CHECK_FALSE(steps.back().step);
  CHECK(steps.back().fatal);
  CHECK_FALSE(steps[59].fatal);
}

TEST_CASE("a report of ten steps gives its loss to the step that it was printed at, and its count to all of them") {
  const Trace trace = trace_of({{"log.txt", log_of(10, 60)}, {"metrics.csv", table_of(1, 60)}});
  const auto steps = steps_of(trace);
  REQUIRE(steps.size() == 60);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::int64_t number = static_cast<std::int64_t>(i) + 1;
    CHECK(steps[i].loss.has_value() == (number % 10 == 0));
    const bool is_counted = number <= 10 || number > 20;  // the log counts one of the second ten
    CHECK(steps[i].overflow == (is_counted ? std::optional(false) : std::nullopt));
  }
}

TEST_CASE("a report that counts no skipped step makes none clean at which the scale fell") {
  std::string table = "step,loss_scale\n";
  for (int step = 1; step <= 30; ++step) table += fmt::format("{},{}\n", step, step < 25 ? 64 : 32);
  std::string log = log_of(10, 30);
  for (const std::string_view word : {"scale: 32.0", "iterations:   1"}) {  // of step 20, at which nothing happens here
    log.replace(log.find(word), word.size(), word.front() == 's' ? "scale: 64.0" : "iterations:   0");
  }
  const auto steps = steps_of(trace_of({{"log.txt", log}, {"metrics.csv", table}}));
  REQUIRE(steps.size() == 30);
  CHECK(steps[23].overflow == false);
  CHECK_FALSE(steps[24].overflow);
  CHECK(steps[25].overflow == false);
}

TEST_CASE("of twenty steps in common one may contradict, of nineteen none") {
  const auto with_one = [](int last) {
    std::string log = log_of(10, last);
    log.replace(log.find("scale: 64.0"), 11, "scale: 16.0");  // of step 10
    return trace_of({{"log.txt", log}, {"metrics.csv", table_of(1, last)}});
  };
  const Trace trusted = with_one(200);
  CHECK_THAT(warning(trusted, "sources-disagree"), Catch::Contains("of step 10"));
  CHECK_THAT(warning(trusted, "other-source"), Catch::Contains("19 agree"));
  CHECK_THAT(warning(with_one(190), "other-source"), Catch::Contains("as of another run"));
}

TEST_CASE("a checkpoint's scale is compared with what is told of its step, or of the steps beside it") {
  const auto saved_at = [](std::int64_t step, double scale) {
    Trace saved;
    TraceCheckpoint checkpoint;
    checkpoint.path = "run/checkpoint";
    checkpoint.step = step;
    checkpoint.fields.emplace_back("scale", scale);
    saved.checkpoints.push_back(checkpoint);
    std::vector<Trace> told;
    told.push_back(trace_of({{"metrics.csv", table_of(1, 60)}}));
    return told_together(std::move(told), std::move(saved));
  };
  CHECK(warning(saved_at(40, 32), "sources-disagree").empty());
  CHECK(warning(saved_at(20, 64), "sources-disagree").empty());  // of the step before
  CHECK(warning(saved_at(400, 64), "sources-disagree").empty());
  CHECK_THAT(warning(saved_at(40, 64), "sources-disagree"),
             Catch::Contains("run/checkpoint holds a scale of 64.0, and of its step, 40,") &&
                 Catch::Contains("tells one of 32.0"));
  CHECK(saved_at(40, 64).checkpoints.size() == 1);
}

TEST_CASE("checkpoints are compared with every step that has a number, wherever lines without one stand") {
  TraceStep skipped, numbered;
  skipped.after = 16;
  numbered.step = 40;
  numbered.after = 32;
  const auto compared = [&](std::vector<TraceCheckpoint> checkpoints) {
    Trace trace, saved;
    trace.sources.push_back({"run/log.txt", "jsonl", ""});
    trace.segments.push_back({});
    for (const TraceStep& step : {skipped, numbered, skipped}) trace.steps.push_back(step);
    saved.checkpoints = std::move(checkpoints);
    std::vector<Trace> told;
    told.push_back(std::move(trace));
    return warning(told_together(std::move(told), std::move(saved)), "sources-disagree");
  };
  const auto checkpoint = [](std::string path, std::optional<std::int64_t> step, double scale) {
    return TraceCheckpoint{std::move(path), step, "", {{"scale", scale}}};
  };
  CHECK(compared({checkpoint("a", 40, 32)}).empty());
  CHECK(compared({checkpoint("a", {}, 8)}).empty());
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const double other : {8.0, infinity, -32.0, nan, 32.01}) {
    CHECK_THAT(compared({checkpoint("a", 40, 32),
                         checkpoint("b", {}, 8),
                         checkpoint("c", 90, 8),
                         {"d", 40, "", {{"window", 7}}},
                         checkpoint("e", 40, other)}),
               Catch::Contains("e holds a scale of") && Catch::Contains("of its step, 40,"));
  }
}

TEST_CASE("MLflow's database is said not to be read, with the query that makes a table of it, and the rest is read") {
  const Trace trace = trace_of({{"metrics.csv", table_of(1, 60)}, {"mlflow.db", "SQLite format 3 and more"}});
  CHECK(steps_of(trace).size() == 60);
  CHECK_THAT(warning(trace, "database"), Catch::Contains("run/mlflow.db") && Catch::Contains("sqlite3 -csv -header"));
}
