// The page about trainers (lib/dialect/resumes.md), rendered from their tables.
#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iterator>
#include <string>

#include "lib/dialect/trainer.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

using namespace tare;

namespace {

std::string releases(const Resume& row) {
  if (!row.when.empty()) return std::string(row.when);
  if (row.since.empty() && row.until.empty()) return "all";
  if (row.since.empty()) return fmt::format("up to {}", row.until);
  return row.until.empty() ? fmt::format("from {} on", row.since) : fmt::format("{} to {}", row.since, row.until);
}

std::string condition(const Condition& one) {
  const bool is_without = one.is == Condition::Is::absent || one.is == Condition::Is::unset;
  if (is_without) return fmt::format("no `{}`", one.keys);
  std::string says(one.says.substr(0, one.says.find('|')));
  return says.empty() ? fmt::format("`{}`", one.keys) : fmt::format("`{}` {}", one.keys, says);
}

std::string checkpoints(const Resume& row) {
  constexpr std::array stored = {"without a scaler", "with its scaler", "any"};
  std::string text = stored.at(static_cast<std::size_t>(row.stored));
  for (const Condition& one : row.needs) text += ", " + condition(one);
  return row.is_about == nullptr ? text : text + ", by its state";
}

std::string taken(const RunFolder& row) {
  switch (row.takes) {
    case RunFolder::Takes::link:
      return fmt::format("what the link `{}` leads to", row.name);
    case RunFolder::Takes::file:
      return fmt::format("`{}`, which is a copy of one of them", row.name);
    case RunFolder::Takes::highest:
      if (row.beside.empty() || row.beside == row.name) return "the one with the highest number";
      return fmt::format("of `{}` the one with the highest number", row.name);
    case RunFolder::Takes::pointed:
      return "none without the file that names one; the highest is shown";
    case RunFolder::Takes::asked:
      if (row.beside.empty()) return "no rule: one has to be named";
      return fmt::format("`{}`; of several one has to be named", row.name);
  }
  return {};
}

std::string ranks(const Trainer& trainer) {
  std::string text;
  for (const RankWord& word : trainer.rank_words) {
    const std::string folder = word.own_folder.empty() ? "" : fmt::format("{}#/", word.own_folder);
    text += fmt::format("{}`{}{}{}#`", text.empty() ? "" : ", ", folder, word.word, word.needs_separator ? "_" : "");
  }
  for (const KeptAt& place : trainer.places) {
    if (place.authority == Authority::own_rank) return text + (text.empty() ? "" : ": ") + "each loads its own copy";
  }
  return text;
}

std::string runs_of(const Trainer& trainer) {
  std::string rows;
  for (const RunPointer& pointer : trainer.pointers) {
    const std::string when = pointer.when.empty() ? "" : fmt::format(", {}", pointer.when);
    rows +=
        fmt::format("| {} | | what the file `{}` names{} | {} |\n", trainer.name, pointer.file, when, ranks(trainer));
  }
  for (const RunFolder& row : trainer.runs) {
    const std::string_view saves = row.beside.empty() ? row.name : row.beside;
    const std::string inside = row.inside.empty() ? "" : fmt::format(" with `{}` in it", row.inside);
    rows += fmt::format("| {} | `{}`{} | {} | {} |\n", trainer.name, saves, inside, taken(row), ranks(trainer));
  }
  if (rows.empty() && !ranks(trainer).empty()) rows = fmt::format("| {} | | | {} |\n", trainer.name, ranks(trainer));
  return rows;
}

/// lib/dialect/resumes.md, as the tables say.
std::string document() {
  std::size_t count = 0;
  std::size_t run = 0;
  std::string rows, runs;
  for (const Trainer* trainer : trainers()) {
    runs += runs_of(*trainer);
    for (const Resume& row : trainer->resumes) {
      ++count;
      run += row.was_run ? 1 : 0;
      rows += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", trainer->name, releases(row), checkpoints(row),
                          row.what, row.helps, row.source, row.was_run ? "run" : fmt::format("read: {}", row.why_read));
    }
  }
  return fmt::format(
      "# What a resume does with the state\n\n"
      "The trainers' tables (`frameworks/`), as `tare inspect` and `tare doctor` tell them of a checkpoint that they "
      "are "
      "about. Of\n{} rows {} were run (`tests/fidelity/resumes.py`), the others read. A test keeps this page what the "
      "tables say.\n\n"
      "| trainer | releases | checkpoint | what it does | what helps | source | |\n|---|---|---|---|---|---|---|\n{}\n"
      "## Which save a resume takes\n\n"
      "Where no name tells whose run it is (`step_100`, `epoch-3` beside others), the highest number is taken. '#' is "
      "a "
      "number, '*'\nanything.\n\n"
      "| trainer | saves of a run | a resume takes | files of ranks |\n|---|---|---|---|\n{}",
      count, run, rows, runs);
}

}  // namespace

TEST_CASE("a row about a resume was run, or says why not") {
  for (const Trainer* trainer : trainers()) {
    for (const Resume& row : trainer->resumes) {
      INFO(trainer->name << " " << row.what);
      CHECK(row.was_run == row.why_read.empty());
    }
  }
}

TEST_CASE("the page about resumes is what the tables say") {
  std::ifstream stream(TARE_TEST_SOURCE "/../lib/dialect/resumes.md");
  const std::string page{std::istreambuf_iterator<char>(stream), {}};
  INFO("it should be:\n" << document());
  CHECK(page == document());
}
