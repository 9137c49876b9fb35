// A run that keeps its last checkpoints alone, or writes over one, goes on where it was.
#include "lib/watch/saved_course.hpp"

#include <string>
#include <vector>

#include "tests/catch.hpp"

using namespace tare;

namespace {

struct SavedStep {
  std::string path;
  std::int64_t step;
  double scale;
  std::uint64_t span = 1;
  std::optional<std::uint64_t> skipped = {};
};

Trace saved(const std::vector<SavedStep>& steps) {
  Trace trace;
  trace.segments.emplace_back();
  for (const SavedStep& one : steps) {
    const auto source = static_cast<std::uint32_t>(trace.sources.size());
    trace.sources.push_back({one.path, "checkpoint", ""});
    trace.steps.push_back(
        {.step = one.step, .after = one.scale, .skipped = one.skipped, .span = one.span, .source = source});
  }
  return trace;
}

std::vector<double> scales_of(const SavedCourse& course) {
  std::vector<double> scales;
  for (const TraceStep& step : course.trace().steps) scales.push_back(step.after.value_or(-1));
  return scales;
}

using Scales = std::vector<double>;

}  // namespace

TEST_CASE("each checkpoint of a run that keeps two is told once, and none is forgotten as it is taken away") {
  SavedCourse course;
  course.take(saved({{"a", 100, 64}, {"b", 200, 64}}));
  course.take(saved({{"b", 200, 64}, {"c", 300, 32}}));
  course.take(saved({{"c", 300, 32}, {"d", 400, 16}}));
  course.take(saved({{"c", 300, 32}, {"d", 400, 16}}));
  CHECK(scales_of(course) == Scales{64, 64, 32, 16});
  CHECK(course.trace().segments.size() == 1);
}

TEST_CASE("a checkpoint that is written over is told again, and begins a segment where its step goes back") {
  SavedCourse course;
  course.take(saved({{"last", 100, 64}}));
  course.take(saved({{"last", 200, 32}}));
  course.take(saved({{"last", 200, 16}}));
  CHECK(course.trace().segments.size() == 1);
  course.take(saved({{"last", 150, 64}}));
  CHECK(scales_of(course) == Scales{64, 32, 16, 64});
  CHECK(course.trace().segments.size() == 2);
}

TEST_CASE("checkpoints that are rotated by renaming, the newest being the first, show no restart") {
  SavedCourse course;
  course.take(saved({{"model3", 100, 64}, {"model2", 200, 64}, {"model1", 300, 32}}));
  course.take(saved({{"model3", 200, 64}, {"model2", 300, 32}, {"model1", 400, 32}}));
  course.take(saved({{"model3", 300, 32}, {"model2", 400, 32}}));
  course.take(saved({{"model3", 300, 32}, {"model2", 400, 32}, {"model1", 500, 16}}));
  CHECK(scales_of(course) == Scales{64, 64, 32, 32, 16});
  CHECK(course.trace().segments.size() == 1);
  course.take(saved({{"model1", 150, 64}, {"model3", 400, 32}, {"model2", 500, 16}}));
  CHECK(course.trace().segments.size() == 2);
  course.take(saved({{"model2", 150, 64}, {"model1", 250, 64}, {"model3", 500, 16}}));
  CHECK(scales_of(course) == Scales{64, 64, 32, 32, 16, 64, 64});
  CHECK(course.trace().segments.size() == 2);
}

TEST_CASE("a run that starts anew and saves what it saved before has gone back, though its first saves are gone") {
  SavedCourse course;
  course.take(saved({{"100", 100, 64}, {"last", 200, 64}}));
  course.take(saved({{"last", 300, 64}}));
  course.take(saved({{"last", 100, 64}}));
  CHECK(course.trace().segments.size() == 2);
}

TEST_CASE("an earlier checkpoint that is found late is no restart") {
  SavedCourse course;
  course.take(saved({{"1000", 1000, 64}}));
  course.take(saved({{"200", 200, 32}, {"1000", 1000, 64}}));
  CHECK(scales_of(course) == Scales{64});
  CHECK(course.trace().segments.size() == 1);
}

TEST_CASE("skipped steps that an older checkpoint told are not counted again when it is taken away") {
  SavedCourse course;
  course.take(saved({{"a", 100, 64, 100, 4}}));
  course.take(saved({{"a", 100, 64, 100, 4}, {"b", 200, 32, 100, 1}}));
  course.take(saved({{"b", 200, 32, 200, 5}, {"c", 300, 32, 100, 0}}));
  course.take(saved({{"d", 400, 16, 400, 8}}));
  std::uint64_t skipped = 0, steps = 0;
  for (const TraceStep& step : course.trace().steps) {
    skipped += step.skipped.value_or(0);
    steps += step.span;
  }
  CHECK(skipped == 8);
  CHECK(steps == 400);
}
