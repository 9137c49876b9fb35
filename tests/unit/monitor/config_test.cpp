// What a monitor is asked for, and what nobody can mean.
#include "lib/monitor/config.hpp"

#include <string>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"

using namespace tare;

TEST_CASE("a number of looks, or of skipped steps, below 1, which would tell of a healthy run, is refused") {
  for (const std::string name : {"looks", "stuck"}) {
    for (const char* value : {"0", "-1", "0.5"}) {
      const std::string config = R"({"warn":{")" + name + "\":" + value + "}}";
      CHECK_THROWS_WITH(monitor::parse_config(config.c_str()), Catch::Contains("\"" + name + "\" is out of range"));
    }
    CHECK_NOTHROW(monitor::parse_config((R"({"warn":{")" + name + "\":1}}").c_str()));
  }
  CHECK_NOTHROW(monitor::parse_config(R"({"warn":{"low_scale":0}})"));
}
