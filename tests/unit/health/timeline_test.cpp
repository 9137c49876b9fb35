// A run at a glance: what lies between its checkpoints, and which is the last to go back to.
#include "lib/health/timeline.hpp"

#include "tests/catch.hpp"
#include "tests/unit/health/made_runs.hpp"

using namespace tare;
using tests::MadeRun;

namespace {

MadeRun collapsed() {
  MadeRun run;
  run.clean(65536, 1000).overflow(65536, 32768).clean(32768, 999).growth(32768, 65536).clean(65536, 998);
  run.halvings(65536, 17);
  return run.checkpoint(1000, 65536).checkpoint(2000, 32768).checkpoint(2990, 65536).checkpoint(3010, 0.5);
}

}  // namespace

TEST_CASE("each checkpoint says what happened since the one before") {
  MadeRun run = collapsed();
  const Timeline timeline = timeline_of(run.trace(), {"run"});
  REQUIRE(timeline.rows.size() == 4);
  CHECK(timeline.rows[0].overflows == 0);
  CHECK(timeline.rows[1].overflows == 1);
  CHECK(timeline.rows[1].highest == 65536);
  CHECK(timeline.rows[1].lowest == 32768);
  CHECK(timeline.rows[2].growths == 1);
  CHECK(timeline.rows[3].overflows == 11);
  CHECK(timeline.rows[3].is_sick);
}

TEST_CASE("the last healthy checkpoint lies before the trouble, and is marked") {
  MadeRun run = collapsed();
  const Timeline timeline = timeline_of(run.trace(), {"run"});
  REQUIRE(timeline.last_healthy);
  CHECK(timeline.last_healthy->path == "run/step2990");
  CHECK(timeline.rows[2].is_last_healthy);
  CHECK(timeline.curve.marks[2].is_good);
  CHECK(timeline.curve.marks[3].is_bad);
}

TEST_CASE("the advice of a timeline names the checkpoint to go back to, or where one would be") {
  MadeRun run = collapsed();
  MadeRun without;
  without.clean(65536, 1000).halvings(65536, 17);
  const std::pair<Trace, std::string> cases[] = {{run.trace(), "Resume from run/step2990; "},
                                                 {without.trace(), "Resume from the last checkpoint before step "}};
  for (const auto& [trace, named] : cases) {
    const Timeline timeline = timeline_of(trace, {"run"});
    REQUIRE(!timeline.findings.empty());
    const std::string& gravest = timeline.findings.front().advice;
    CHECK(gravest.find(named) != std::string::npos);
    for (const HealthFinding& finding : timeline.findings) CHECK(finding.advice.find('{') == std::string::npos);
  }
}

TEST_CASE("the curve has every change of the scale, and every overflow") {
  MadeRun run = collapsed();
  const chart::Curve curve = timeline_of(run.trace(), {"run"}).curve;
  CHECK(curve.events.size() == 18);
  CHECK(curve.events.front() == 1001);
  CHECK(curve.points.front().value == 65536);
  CHECK(curve.points.back().value == 0.5);
  CHECK(curve.last_x == 3016);
}

TEST_CASE("checkpoints alone are a curve, and the last healthy one is named without a log") {
  MadeRun run;
  run.checkpoint(500, 65536).checkpoint(1000, 32768).checkpoint(1500, 0);
  const Timeline timeline = timeline_of(run.trace(), {"run"});
  CHECK(timeline.curve.points.size() == 3);
  REQUIRE(timeline.last_healthy);
  CHECK(timeline.last_healthy->step == 1000);
}

TEST_CASE("where nothing is told there is no timeline") {
  CHECK_THROWS(timeline_of(MadeRun().trace(), {"run"}));
}
