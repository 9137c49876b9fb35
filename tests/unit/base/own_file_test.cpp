// Where the code that runs came from, and how it was linked.
#include "lib/base/own_file.hpp"

#include <filesystem>

#include "tests/catch.hpp"

using namespace tare;

TEST_CASE("a program that a loader started may open modules, and knows its own file whatever it was called as") {
  CHECK_FALSE(is_static_program());
  CHECK(own_file() == std::filesystem::canonical("/proc/self/exe").string());
}
