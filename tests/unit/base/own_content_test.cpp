// What a file that is written again and again may be in the place of.
#include "lib/base/own_content.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"

using namespace tare;

TEST_CASE("lines that a full disk cut off at once are gone on with, and another's file is not") {
  constexpr std::string_view beginning = R"({"schema":"tare.watch/)";
  std::string folder = (std::filesystem::temp_directory_path() / "tare-test-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const auto is_taken = [&](std::string_view text) {
    std::ofstream(folder + "/a.jsonl") << text;
    try {
      require_own_content(folder + "/a.jsonl", beginning, "lines of tare watch");
      return true;
    } catch (const Error& error) {
      return error.status != Status::refused;
    }
  };
  for (const char* own : {"", R"({"sch)", "{\"sch\n{\"schema\":\"tare.watch/1\"}\n", "{\"sch\n{\"sche",
                          "{\"schema\":\"tare.watch/1\"}\n"}) {
    CHECK(is_taken(own));
  }
  for (const char* other : {"{\n  \"schema\": 1\n}\n", "PK\x03\x04", "{\"sch\nstep 1: loss scale 2\n"})
    CHECK_FALSE(is_taken(other));
  std::filesystem::remove_all(folder);
}
