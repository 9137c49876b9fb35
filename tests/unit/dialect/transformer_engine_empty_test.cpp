#include "lib/dialect/frameworks/transformer_engine_empty.hpp"
#include "lib/dialect/frameworks/transformer_engine.hpp"
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

TEST_CASE("an argument of Megatron whose name ends like a module's extra state is no module, and none is removed") {
  MadeTree made;
  made.tree.root = made.map(
      {{"args", made.map({{"ckpt_drop_redundant_extra_state", made.none()}})}, {"fc1._extra_state", made.none()}});
  CHECK_THAT(told_of_empty_fp8(made.tree)->message, Catch::StartsWith("1 of 1 FP8 modules"));
  REQUIRE(modules_without_scales(made.tree).size() == 1);
  CHECK(modules_without_scales(made.tree).front().path == "fc1._extra_state");
}

TEST_CASE("extra state goes by its whole name, alone or behind a module's path") {
  for (const char* key : {"_extra_state", "fc1._extra_state", "fc1._extra_state12", "fc1._extra_state/shard_0_4"}) {
    CAPTURE(key);
    CHECK(is_extra_state(key));
  }
  for (const char* key : {"ckpt_drop_redundant_extra_state", "x_extra_state1", "fc1.x_extra_state/shard_0_4",
                          "extra_state", "_extra_state.x", "12", "/shard_", ""}) {
    CAPTURE(key);
    CHECK_FALSE(is_extra_state(key));
  }
}
