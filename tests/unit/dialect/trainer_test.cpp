// The tables of trainers: how their names are read.
#include "lib/dialect/trainer.hpp"

#include "lib/dialect/release_keys.hpp"
#include "tests/catch.hpp"

using namespace tare;

TEST_CASE("a name is told by its number, or by stars") {
  CHECK(is_named("step_#", "step_100"));
  CHECK_FALSE(is_named("step_#", "step_"));
  CHECK_FALSE(is_named("step_#", "step_100.tmp"));
  CHECK(is_named("#", "001000"));
  CHECK_FALSE(is_named("#", "last"));
  CHECK(is_named("*-state", "lora-step00000500-state"));
  CHECK_FALSE(is_named("*-state", "state"));
  CHECK(is_named("model.pt.*", "model.pt.ep1.500"));
}

TEST_CASE("a release is in a row by its numbers, whatever is behind them") {
  CHECK(release_is_in("8.3.202", "", "8.3.202") == true);
  CHECK(release_is_in("8.3.203", "", "8.3.202") == false);
  CHECK(release_is_in("8.3.40.dev1", "", "8.3.202") == true);
  CHECK(release_is_in("2.1.0+cu118", "2.1", "") == true);
  CHECK(release_is_in("1.5.10.post0", "1.6", "") == false);
  CHECK_FALSE(release_is_in("", "1.6", "").has_value());
  CHECK_FALSE(release_is_in("main", "1.6", "").has_value());
}

TEST_CASE("every row says what happens, and where that is to be read") {
  for (const Trainer* trainer : trainers()) {
    CAPTURE(trainer->name);
    CHECK_FALSE(trainer->name.empty());
    for (const Resume& row : trainer->resumes) {
      CHECK_FALSE(row.what.empty());
      CHECK_FALSE(row.source.empty());
      // A row about files without a scaler needs something to tell them by.
      const bool is_told = row.stored == Resume::Stored::yes || !row.needs.empty() || row.is_about != nullptr ||
                           !trainer->marks.empty() || !trainer->marked_file.empty();
      CHECK(is_told);
    }
  }
}
