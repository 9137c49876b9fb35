#include "lib/base/alike.hpp"

#include <string>

#include "lib/base/limits.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

Finding note(const std::string& message, const std::string& file) {
  return {Severity::note, "opaque-class", message, file, ""};
}

}  // namespace

TEST_CASE("findings of one kin that say the same are told once, of the first") {
  AlikeFindings findings;
  findings.add(note("names numpy.ndarray", "rank0.pt"), "rank*.pt");
  findings.add(note("names datetime.date", "rank1.pt"), "rank*.pt");
  findings.add(note("names numpy.ndarray", "rank1.pt"), "rank*.pt");
  findings.add(note("names numpy.ndarray", "rank2.pt"), "rank*.pt");
  findings.add(note("names datetime.date", "rank2.pt"), "rank*.pt");
  const auto told = findings.take("rank file");
  REQUIRE(told.size() == 2);
  CHECK(told[0].message == "names numpy.ndarray (and so in 2 more rank files)");
  CHECK(told[0].file == "rank0.pt");
  CHECK(told[1].message == "names datetime.date (and so in 1 more rank file)");
  CHECK(findings.take("rank file").empty());
}

TEST_CASE("findings of another kin, of none, or of another severity stand for themselves") {
  AlikeFindings findings;
  findings.add(note("names numpy.ndarray", "a/rank0.pt"), "a/rank*.pt");
  findings.add(note("names numpy.ndarray", "b/rank0.pt"), "b/rank*.pt");
  findings.add(note("names numpy.ndarray", "model.pt"), std::nullopt);
  findings.add(note("names numpy.ndarray", "other.pt"), std::nullopt);
  findings.add({Severity::warning, "opaque-class", "names numpy.ndarray", "a/rank1.pt", ""}, "a/rank*.pt");
  const auto told = findings.take("rank file");
  CHECK(told.size() == 5);
  for (const Finding& finding : told) CHECK(finding.message == "names numpy.ndarray");
}

TEST_CASE("of one file and code so many findings are told one by one, the rest as a number") {
  AlikeFindings findings;
  for (std::size_t i = 0; i < limits::max_alike_findings + 5; ++i) findings.add(note(std::to_string(i), "a"), {});
  findings.add(note("of another file", "b"), {});
  const auto told = findings.take("rank file");
  REQUIRE(told.size() == limits::max_alike_findings + 1);
  CHECK(told[limits::max_alike_findings - 1].message ==
        std::to_string(limits::max_alike_findings - 1) + " (and 5 more like this)");
  CHECK(told.back().message == "of another file");
}
