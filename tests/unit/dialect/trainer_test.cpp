// The tables of trainers: how their names are read, and what a resume is said to do.
#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iterator>

#include "lib/dialect/release_keys.hpp"
#include "lib/dialect/resume.hpp"
#include "tests/catch.hpp"
#include "tests/unit/dialect/made_tree.hpp"

using namespace tare;

namespace {

std::vector<Finding> told(MadeTree& made, NodeId root, std::string_view file) {
  made.tree.root = root;
  std::vector<Finding> problems;
  const std::vector<FoundScaler> scalers = find_scalers(made.tree, {file}, problems);
  const std::vector<SeenTrainer> seen = trainers_of(made.tree, {file}, scalers);
  return told_of_resumes(seen, !scalers.empty());
}

/// Of ultralytics, with or without a scaler.
NodeId ultralytics(MadeTree& made, std::string_view version, bool has_scaler) {
  return made.map({{"epoch", made.integer(3)},
                   {"optimizer", made.map({{"state", made.map({})}})},
                   {"train_args", made.map({{"amp", made.flag(true)}})},
                   {"version", made.text(version)},
                   {"scaler", has_scaler ? made.grad_scaler() : made.none()}});
}

std::string releases(const Resume& row) {
  if (!row.when.empty()) return std::string(row.when);
  if (row.since.empty() && row.until.empty()) return "all";
  if (row.since.empty()) return fmt::format("up to {}", row.until);
  return row.until.empty() ? fmt::format("from {} on", row.since) : fmt::format("{} to {}", row.since, row.until);
}

/// lib/dialect/resumes.md, as the tables say.
std::string document() {
  std::size_t count = 0;
  std::size_t run = 0;
  std::string rows;
  for (const Trainer* trainer : trainers()) {
    for (const Resume& row : trainer->resumes) {
      ++count;
      run += row.was_run ? 1 : 0;
      constexpr std::array stored = {"without a scaler", "with its scaler", "any"};
      rows += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", trainer->name, releases(row),
                          stored.at(static_cast<std::size_t>(row.stored)), row.what, row.helps, row.source,
                          row.was_run ? "run" : "read");
    }
  }
  return fmt::format(
      "# What a resume does with the state\n\n"
      "The trainers' tables (`frameworks/`), as `tare inspect` tells them of a checkpoint that they are about. Of {} "
      "rows "
      "{}\nwere run (`tests/fidelity/resumes.py`), the others read. A test keeps this page what the tables say.\n\n"
      "| trainer | releases | checkpoint | what it does | what helps | source | |\n|---|---|---|---|---|---|---|\n{}",
      count, run, rows);
}

}  // namespace

TEST_CASE("the page about resumes is what the tables say") {
  std::ifstream stream(TARE_TEST_SOURCE "/../lib/dialect/resumes.md");
  const std::string page{std::istreambuf_iterator<char>(stream), {}};
  INFO("it should be:\n" << document());
  CHECK(page == document());
}

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

TEST_CASE("what a release loses is told of its checkpoints, and of no others") {
  MadeTree made;
  const auto lost = told(made, ultralytics(made, "8.3.19", false), "last.pt");
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].code == "resume");
  CHECK(lost[0].severity == Severity::note);
  CHECK(lost[0].message.starts_with("ultralytics 8.3.19 keeps no scaler: "));
  CHECK(lost[0].message.ends_with("(ultralytics/ultralytics#22189)"));  // it was run: nothing more
  CHECK(told(made, ultralytics(made, "8.3.203", false), "last.pt").empty());
  CHECK(told(made, ultralytics(made, "8.3.19", true), "last.pt").empty());
}

TEST_CASE("a release that the file does not say is told as a condition") {
  MadeTree made;
  const auto lost = told(made, ultralytics(made, "main", false), "last.pt");
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].message.starts_with("ultralytics up to 8.3.202 keeps no scaler: "));
}

TEST_CASE("a mark that is False is none") {
  MadeTree made;
  const NodeId args = made.map({{"amp", made.flag(false)}});
  const NodeId root = made.map({{"optimizer", made.map({})}, {"train_args", args}, {"version", made.text("8.0.0")}});
  CHECK(told(made, root, "last.pt").empty());
}

TEST_CASE("every row says what happens, and where that is to be read") {
  for (const Trainer* trainer : trainers()) {
    CAPTURE(trainer->name);
    CHECK_FALSE(trainer->name.empty());
    for (const Resume& row : trainer->resumes) {
      CHECK_FALSE(row.what.empty());
      CHECK_FALSE(row.source.empty());
      // A row about files without a scaler needs something to tell them by.
      const bool is_told =
          row.stored == Resume::Stored::yes || !trainer->marks.empty() || !trainer->marked_file.empty();
      CHECK(is_told);
    }
  }
}
