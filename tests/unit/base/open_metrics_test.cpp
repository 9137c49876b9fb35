// Text that Prometheus reads.
#include "lib/base/open_metrics.hpp"

#include <limits>

#include "tests/catch.hpp"

using namespace tare;

TEST_CASE("a label's text cannot end its label or its line") {
  CHECK(OpenMetrics::label("run/a b") == "run/a b");
  CHECK(OpenMetrics::label("a\"b\\c\nd") == "a\\\"b\\\\c\\nd");
}

TEST_CASE("a family is told with its type, its help and the run, and one without a value not at all") {
  OpenMetrics metrics("run \"1\"");
  metrics.gauge("tare_scale", "The scale.", 0.5);
  metrics.gauge("tare_step", "The step.", std::nullopt);
  metrics.counter("tare_steps", "Steps.", 7);
  CHECK(metrics.take() ==
        "# TYPE tare_scale gauge\n# HELP tare_scale The scale.\ntare_scale{run=\"run \\\"1\\\"\"} 0.5\n"
        "# TYPE tare_steps counter\n# HELP tare_steps Steps.\ntare_steps_total{run=\"run \\\"1\\\"\"} 7\n# EOF\n");
}

TEST_CASE("numbers that are not finite have OpenMetrics' words") {
  const auto line = [](double value) {
    OpenMetrics metrics("r");
    metrics.sample("scale", value);
    return metrics.take();
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  CHECK(line(infinity) == "scale{run=\"r\"} +Inf\n# EOF\n");
  CHECK(line(-infinity) == "scale{run=\"r\"} -Inf\n# EOF\n");
  CHECK(line(std::numeric_limits<double>::quiet_NaN()) == "scale{run=\"r\"} NaN\n# EOF\n");
}

TEST_CASE("findings are counted by severity, each of which is always told, and by code") {
  const auto lines = [](const std::vector<HealthFinding>& findings) {
    OpenMetrics metrics("r");
    metrics.findings(findings);
    return metrics.take();
  };
  const std::string none = lines({});
  for (const char* severity : {"error", "warning", "note"}) {
    CHECK_THAT(none, Catch::Contains(std::string("tare_findings{run=\"r\",severity=\"") + severity + "\"} 0\n"));
  }
  CHECK_THAT(none, !Catch::Contains("tare_finding{"));
  HealthFinding collapse, low;
  collapse.severity = Severity::error;
  collapse.code = "collapse";
  low.severity = Severity::warning;
  low.code = "low-scale";
  const std::string some = lines({collapse, low, collapse});
  CHECK_THAT(some, Catch::Contains("tare_findings{run=\"r\",severity=\"error\"} 2\n"));
  CHECK_THAT(some, Catch::Contains("tare_findings{run=\"r\",severity=\"note\"} 0\n"));
  CHECK_THAT(some, Catch::Contains("tare_finding{run=\"r\",code=\"collapse\",severity=\"error\"} 2\n"));
  CHECK_THAT(some, Catch::Contains("tare_finding{run=\"r\",code=\"low-scale\",severity=\"warning\"} 1\n"));
}
