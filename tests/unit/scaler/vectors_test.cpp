// The frameworks' own traces through the C++ scaler.

#include "tests/catch.hpp"
#include "tests/places.hpp"
#include "tests/unit/scaler/library_scaler.hpp"

using namespace tare;

TEST_CASE("every trace of every framework comes out the same through the C++ scaler") {
  test::LibraryScaler scaler("cpu");
  const vectors::Tally tally = vectors::run_all(TARE_TEST_SOURCE "/vectors", scaler);
  CHECK(tally.traces > 200);
  CHECK(tally.steps > 100000);
  CHECK(tally.differences.empty());
}
