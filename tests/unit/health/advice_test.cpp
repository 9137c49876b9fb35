// What an answer says to print is read once it is printed.
#include <string>

#include "lib/health/advice.hpp"
#include "lib/health/rules.hpp"
#include "tests/catch.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;

namespace {

std::string with(std::string text, const std::string& what, const std::string& value) {
  const std::size_t at = text.find(what);
  REQUIRE(at != text.npos);
  return text.replace(at, what.size(), value);
}

/// What stands between the first of those words and the next quote.
std::string quoted(std::string_view text, std::string_view before) {
  const std::size_t begin = text.find(before);
  REQUIRE(begin != text.npos);
  const std::size_t end = text.find('"', begin + before.size());
  return std::string(text.substr(begin + before.size(), end - begin - before.size()));
}

}  // namespace

TEST_CASE("the line that an advice says to print tells a step and its scale") {
  for (const char* code : {"no-scale-trace", "averages-alone"}) {
    const std::string line = quoted(find_rule(code)->advice, "print(f\"");
    const Trace trace = trace_of_log(with(with(line, "{step}", "17"), "{scaler.get_scale()}", "0.000244140625") + "\n");
    REQUIRE(trace.steps.size() == 1);
    CHECK((*trace.steps.begin()).step == 17);
    CHECK((*trace.steps.begin()).after == 0x1p-12);
  }
  const Trace nothing = trace_of_log("loss 2.5\n");
  REQUIRE(nothing.warnings.size() == 1);
  const std::string line = quoted(nothing.warnings.front().text, "print \"");
  const Trace trace = trace_of_log(with(with(line, "N", "17"), "X", "65536.0") + "\n");
  REQUIRE(trace.steps.size() == 1);
  CHECK((*trace.steps.begin()).after == 65536);
}

TEST_CASE("a blank of an advice is filled where the table has it, and not in what was filled in") {
  CHECK(filled("edit CHECKPOINT; {healthy}", {{"CHECKPOINT", "a/{healthy}/CHECKPOINT"}, {"{healthy}", "b"}}) ==
        "edit a/{healthy}/CHECKPOINT; b");
  CHECK(filled("nothing", {{"CHECKPOINT", "a"}}) == "nothing");
}
