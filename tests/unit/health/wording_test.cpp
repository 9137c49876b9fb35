// What each rule tells of a run: the step where it began, and the numbers that show it.
#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/unit/health/made_runs.hpp"

using namespace tare;
using tests::MadeRun;

namespace {

/// "step 301: the loss rose ...", or "nothing" where no finding has that code.
std::string told_by(const char* code, MadeRun run) {
  for (const HealthFinding& finding : examine(run.trace(), {})) {
    if (finding.code != code) continue;
    return (finding.step ? "step " + std::to_string(*finding.step) + ": " : "") + finding.message;
  }
  return "nothing";
}

MadeRun losses(std::initializer_list<std::pair<int, float>> levels) {
  MadeRun run;
  for (const auto& [count, loss] : levels) {
    for (int i = 0; i < count; ++i) run.loss(65536, loss);
  }
  return run;
}

/// A window of a hundred steps before each growth.
MadeRun growing(double scale, int growths) {
  MadeRun run;
  for (int i = 0; i < growths; ++i, scale *= 2) run.clean(scale, 99).growth(scale, 2 * scale);
  return run;
}

MadeRun hitting_a_ceiling(int hits) {
  MadeRun run;
  run.clean(4096, 2000);
  for (int i = 0; i < hits; ++i) run.growth(4096, 8192).overflow(8192, 4096).clean(4096, 500);
  return run;
}

/// So many overflows that leave the scale where it is, with clean steps between them.
MadeRun skipping(int overflows, int clean) {
  MadeRun run;
  run.clean(4096, 200);
  for (int i = 0; i < overflows; ++i) run.overflow(4096, 4096).clean(4096, clean);
  return run;
}

MadeRun staying(int overflows) {
  MadeRun run;
  run.clean(1024, 500);
  for (int i = 0; i < overflows; ++i) run.overflow(1024, 1024);
  return run;
}

/// Twenty norms of 1 or so many, a norm that is so great, and a loss that jumps behind it.
MadeRun norms(int usual, float norm) {
  MadeRun run;
  for (int i = 0; i < usual; ++i) run.loss(65536, 3, 1);
  return run.loss(65536, 3, norm).loss(65536, 9, 1);
}

}  // namespace

TEST_CASE("what stands out in the scale is told with the step where it began and the numbers that show it") {
  CHECK(told_by("static-scale", MadeRun("mindyolo-log", false).left(1024).left(1024)) ==
        "2 overflows are told, and the scale behind each is 1024.0: a static scaler does not move with them "
        "(mindyolo's is, unless it is told otherwise), or it grew back in between");
  CHECK(told_by("static-scale", MadeRun("mindyolo-log", false).left(1024)) == "nothing");
  CHECK(told_by("not-scaled", MadeRun().clean(1, 5)) ==
        "step 1: the scale is 1 throughout (5 steps): bfloat16 or float32, which need none");
  CHECK(told_by("not-scaled", MadeRun().clean(1, 4)) == "nothing");
  CHECK(told_by("not-scaled", MadeRun().clean(1, 50).clean(2)) == "nothing");
  CHECK(told_by("too-many-overflows", skipping(26, 20)) ==
        "step 1: 21 of 1000 steps were skipped (2.1 %); a healthy run skips 2.0 % at most");
  CHECK(told_by("too-many-overflows", skipping(14, 20)) == "nothing");
  CHECK(told_by("oscillating", hitting_a_ceiling(4)) ==
        "step 2002: 4 growths to 8192.0 overflowed at once: that is the ceiling of these gradients. It costs a step "
        "each time");
  CHECK(told_by("frozen", growing(1024, 2).clean(4096, 301)) ==
        "step 201: the scale stayed at 4096.0 for 301 steps (the window is 100), without an overflow and without a "
        "growth: it is static, at its ceiling, or its counter has passed the window");
  CHECK(told_by("frozen", growing(1024, 2).clean(4096, 300)) == "nothing");
  CHECK(told_by("frozen", MadeRun().clean(1024, 10'001)) ==
        "step 1: the scale stayed at 1024.0 for 10001 steps, without an overflow and without a growth: it is static, "
        "at its ceiling, or its counter has passed the window");
  CHECK(told_by("frozen", MadeRun().clean(1, 10'001)) == "nothing");
  CHECK(told_by("exploding", growing(0x1p20, 5)) ==
        "step 100: the scale grew 5 times to 33554432.0 and nothing overflowed: gradients vanish, or are zero (a "
        "detached loss, frozen parameters)");
  CHECK(told_by("exploding", growing(0x1p20, 4)) == "nothing");
  CHECK(told_by("exploding", growing(0x1p19, 5)) == "nothing");  // 2^24, where Apex' ends
  CHECK(told_by("manual-growth", growing(1024, 5).clean(32768, 9).growth(32768, 65536)) ==
        "step 510: 1 growth came long before the window of 100 was full, the first after 10 clean steps: a rule waits "
        "for the whole of it; the scale was set, or the window");
  CHECK_THAT(told_by("manual-growth",
                     growing(1024, 5).clean(32768, 9).growth(32768, 65536).clean(65536, 19).growth(65536, 131072)),
             Catch::StartsWith("step 510: 2 growths came long before the window of 100 was full, the first after 10"));
  CHECK(told_by("manual-growth", growing(1024, 5).clean(32768, 49).growth(32768, 65536)) == "nothing");
  CHECK(told_by("manual-growth", growing(1024, 3).clean(8192, 9).growth(8192, 16384)) == "nothing");  // two are alike
}

TEST_CASE("overflows that do what no rule does are told with the step where they began") {
  CHECK(told_by("count-contradiction", MadeRun().interval(65536, 10, 0).interval(32768, 10, 0)) ==
        "step 20: the scale fell 1 time in steps of which the log counts no skipped one: do not trust its count");
  CHECK(told_by("count-contradiction", MadeRun().interval(65536, 10, 0).interval(32768, 10, 0).interval(1024, 10, 0)) ==
        "step 20: the scale fell 2 times in steps of which the log counts no skipped one: do not trust its count");
  CHECK(told_by("backoffs-at-once", MadeRun().clean(131072, 100).overflow(131072, 1024)) ==
        "step 101: the scale went from 131072.0 to 1024.0 in one step, which takes 7 halvings");
  CHECK(told_by("stuck-at-floor", staying(3)) ==
        "step 501: 3 overflows in a row at scale 1024.0, which did not move: no step was made");
  CHECK(told_by("stuck-at-floor", staying(2)) == "nothing");
  CHECK(told_by("stuck-at-floor",
                staying(2).overflow(1024, 512).clean(512, 200).overflow(512, 512).overflow(512, 512)) == "nothing");
  CHECK(told_by("broken-scale", MadeRun().clean(1024, 5).clean(HUGE_VAL)) ==
        "step 6: the scale went from 1024.0 to inf (1 step, to the end): no gradient is a number then, and no step is "
        "made");
  CHECK(told_by("initial-search", MadeRun().halvings(65536, 3).clean(8192, 100)) ==
        "step 1: the run began with 3 overflows that took the scale from 65536.0 to 8192.0: dynamic scaling looks for "
        "its scale so");
}

TEST_CASE("a scale is low by the median of its last thousand steps, or of all where there are a hundred") {
  CHECK(told_by("low-scale", MadeRun().clean(2, 150)) ==
        "step 1: the median scale of the last 150 steps is 2.0: gradients below 2.9802322387695312e-08 become 0 in "
        "float16. If the loss is a sum, divide it");
  CHECK(told_by("low-scale", MadeRun().clean(4)) ==
        "step 1: the scale of the last step is 4.0: gradients below 1.4901161193847656e-08 become 0 in float16. If the "
        "loss is a sum, divide it");
  CHECK(told_by("low-scale", MadeRun().clean(8, 150)) == "nothing");
  CHECK(told_by("low-scale", MadeRun().clean(16, 40).overflow(16, 4).clean(4, 58)) == "nothing");  // an excerpt
  CHECK_THAT(told_by("low-scale", MadeRun().clean(16, 40).overflow(16, 4).clean(4, 59)),
             Catch::StartsWith("step 1: the median scale of the last 100 steps is 4.0"));
  CHECK(told_by("low-scale", MadeRun().clean(16, 60).overflow(16, 4).clean(4, 58)) == "nothing");
  CHECK_THAT(told_by("low-scale", MadeRun().clean(4096, 100'000).overflow(4096, 4).clean(4, 500)),
             Catch::StartsWith("step 1: the median scale of the last 1000 steps is 4.0"));
  CHECK(told_by("low-scale", MadeRun().clean(4096, 100'000).overflow(4096, 4).clean(4, 498)) == "nothing");
  CHECK(told_by("low-scale", MadeRun("icefall-log").clean(0.01, 200)) == "nothing");
  CHECK_THAT(told_by("low-scale", MadeRun("icefall-log").clean(0x1p-7, 200)), Catch::StartsWith("step 1: the median"));
}

TEST_CASE("a run that was started again is told with where its scaler, or its end, came back") {
  CHECK(told_by("reset-on-resume", MadeRun().clean(1024, 500).resume(400).clean(65536, 10)) ==
        "step 401: the run resumed with scale 65536.0, and had left 1024.0: its scaler was not restored");
  CHECK(told_by("reset-on-resume",
                MadeRun().sample(1, 32768).sample(2, 1024).sample(3, 1024).resume(3).sample(4, 32768)) ==
        "step 4: the run resumed with scale 32768.0 or more, and had left 1024.0: its scaler was not restored");
  const auto ending_at = [](std::int64_t second, std::int64_t third) {
    return MadeRun().clean(1024, 500).resume(400).clean(1024, second - 400).resume(400).clean(1024, third - 400);
  };
  CHECK(told_by("restart-loop", ending_at(495, 505)) ==
        "step 500: 3 starts of the run ended near step 500: what stops it there has not gone away");
  CHECK(told_by("restart-loop", ending_at(450, 550)) != "nothing");
  CHECK(told_by("restart-loop", ending_at(450, 600)) == "nothing");
}

TEST_CASE("losses that rise are told with the step where they did, from what, to what, and for how long") {
  CHECK(told_by("loss-spike", losses({{300, 3.0F}, {30, 7.5F}})) ==
        "step 301: the loss rose to 7.5, 2.5 times the least before and stands at 7.5 after 29 steps. The scale need "
        "not show it");
  CHECK(told_by("spike-recovered", losses({{300, 3.0F}, {30, 7.5F}, {5, 3.0F}})) ==
        "step 301: the loss rose to 7.5, 2.5 times the least before and came down again after 34 steps. The scale need "
        "not show it");
  CHECK(told_by("spike-recovered", losses({{300, 3.0F}, {30, 7.5F}, {4, 3.0F}})) == "nothing");
  CHECK_THAT(told_by("loss-spike", losses({{300, 3.0F}, {30, 7.5F}, {4, 3.0F}})),
             Catch::Contains("stands at 3 after 33 steps"));
  CHECK_THAT(told_by("diverged", losses({{300, 3.0F}, {201, 7.5F}})),
             Catch::StartsWith("step 301") && Catch::Contains("stands at 7.5 after 200 steps"));
  CHECK(told_by("diverged", losses({{300, 3.0F}, {200, 7.5F}})) == "nothing");
  CHECK_THAT(told_by("loss-spike", losses({{3, 3.0F}, {1, 5.0F}})),
             Catch::StartsWith("step 4: the loss rose to 5, 1.67"));
  CHECK(told_by("loss-spike", losses({{2, 3.0F}, {1, 5.0F}})) == "nothing");  // nothing tells what is usual
  CHECK(told_by("loss-spike", losses({{300, 3.0F}, {1, 4.5F}})) == "nothing");
  CHECK_THAT(told_by("loss-spike", losses({{100, 3.0F}, {22, 3.6F}})),
             Catch::StartsWith("step 122: the loss rose to 3.6"));
  CHECK(told_by("loss-spike", losses({{100, 3.0F}, {21, 3.6F}})) == "nothing");
  CHECK(told_by("loss-spike", losses({{100, 3.0F}, {99, 3.4F}})) == "nothing");
  CHECK(told_by("loss-spike", losses({{100, -3.0F}, {40, 5.0F}})) == "nothing");  // a ratio of those says nothing
}

TEST_CASE("a loss or a gradient norm that is no number, or far from what is usual, is told with its step") {
  CHECK(told_by("nan-loss", losses({{10, 3.0F}, {3, NAN}})) ==
        "step 11: the loss is NaN in 3 reports in a row, of which none is told to be skipped");
  CHECK(told_by("nan-loss", losses({{10, 3.0F}, {2, NAN}, {1, 3.0F}, {2, INFINITY}})) == "nothing");
  CHECK(told_by("norm-spike", norms(20, 20)) ==
        "step 21: the gradient norm was 20, 20 times the median of the reports before it");
  CHECK(told_by("norm-spike", norms(19, 20)) == "nothing");
  CHECK(told_by("norm-spike", norms(20, 10)) == "nothing");
}
