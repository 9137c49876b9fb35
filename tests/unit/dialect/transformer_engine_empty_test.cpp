#include "lib/dialect/frameworks/transformer_engine_empty.hpp"
#include "tests/catch.hpp"
#include "tests/unit/dialect/made_tree.hpp"

using namespace tare;

TEST_CASE("modules that keep None where FP8 state belongs are counted, and others are not") {
  MadeTree made;
  made.tree.root =
      made.map({{"a._extra_state", made.none()}, {"b._extra_state", made.none()}, {"c.bias", made.none()}});
  const auto told = told_of_empty_fp8(made.tree);
  REQUIRE(told);
  CHECK(told->severity == Severity::note);
  CHECK_THAT(told->message, Catch::StartsWith("2 of 2 FP8 modules without scales: 2 empty"));
  MadeTree none;
  none.tree.root = none.map({{"c.bias", none.none()}});
  CHECK_FALSE(told_of_empty_fp8(none.tree));
}
