// Thresholds as a user sets them.
#include "lib/health/thresholds.hpp"

#include <limits>
#include <string>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"

using namespace tare;
using Catch::Contains;

TEST_CASE("each threshold is set by its name, and by it alone") {
  for (const ThresholdFacts& fact : threshold_table()) {
    Thresholds thresholds;
    set_threshold(thresholds, std::string(fact.name) + "=2^5");
    for (const ThresholdFacts& other : threshold_table()) {
      INFO(fact.name << " beside " << other.name);
      CHECK(thresholds.*other.value == (other.name == fact.name ? 32 : Thresholds{}.*other.value));
    }
  }
}

TEST_CASE("what is no number sets no threshold, and an infinity is one: its rule never speaks") {
  Thresholds thresholds;
  for (const char* wrong : {"loss-jump", "loss-jump=", "loss-jump=much", "loss-jump=nan", "loss-jump=1.5x"}) {
    INFO(wrong);
    CHECK(test::status_of([&] { set_threshold(thresholds, wrong); }) == Status::invalid_argument);
    CHECK_THROWS_WITH(set_threshold(thresholds, wrong), Contains("sets no threshold"));
  }
  CHECK(thresholds.loss_jump == Thresholds{}.loss_jump);
  set_threshold(thresholds, "loss-jump=inf");
  CHECK(thresholds.loss_jump == std::numeric_limits<double>::infinity());
}

TEST_CASE("a threshold that there is not is answered with what may have been meant, and all there are") {
  Thresholds thresholds;
  try {
    set_threshold(thresholds, "los-jump=2");
    FAIL("no such threshold is refused");
  } catch (const Error& error) {
    CHECK(error.status == Status::invalid_argument);
    CHECK_THAT(error.what(), Contains("there is no threshold 'los-jump'"));
    CHECK_THAT(error.hint, Contains("did you mean loss-jump?"));
    for (const ThresholdFacts& fact : threshold_table()) CHECK_THAT(error.hint, Contains(std::string(fact.name)));
  }
}
