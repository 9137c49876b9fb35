// Lines of a monitor, and what else may lie where they are to go.
#include "lib/monitor/line_file.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/catch.hpp"

using namespace tare;
using namespace tare::monitor;

TEST_CASE("a monitor whose lines are to go where a checkpoint lies adds nothing to that") {
  std::string folder = (std::filesystem::temp_directory_path() / "tare-test-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/a.pt";
  std::ofstream(path) << "PK\x03\x04";
  LineFile file(path);
  file.take(ObservedStep());
  std::ifstream kept(path);
  const std::string text{std::istreambuf_iterator<char>(kept), {}};
  std::filesystem::remove_all(folder);
  CHECK(text == "PK\x03\x04");
  CHECK(file.failure().find("something else than lines of a monitor") != std::string::npos);
}
