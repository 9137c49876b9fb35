// OpenMetrics of a step, as a scraper reads them.
#include "lib/monitor/metrics_file.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/catch.hpp"

using namespace tare;
using namespace tare::monitor;

TEST_CASE("tensors of one name, and counters below 0 that a GPU held, make no file that a scraper refuses") {
  ObservedStep step;
  step.scaler = ScalerSeen{1, -5, -5};
  for (const double lost : {0.25, 0.5}) {
    Gradient& gradient = step.gradients.emplace_back();
    gradient.name = "conv1.weight";
    gradient.lost = lost;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "tare-test-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  MetricsFile file(folder + "/a.prom");
  file.take(step);
  std::ifstream written(folder + "/a.prom");
  const std::string text{std::istreambuf_iterator<char>(written), {}};
  std::filesystem::remove_all(folder);
  CHECK(text.find(",layer=\"conv1.weight\"} 0.5\n") != std::string::npos);
  CHECK(text.find(",layer=\"conv1.weight\"} 0.25\n") == std::string::npos);
  CHECK(text.find("e+19") == std::string::npos);
  CHECK(text.find("18446744073709551") == std::string::npos);
}

TEST_CASE("a layer of which nothing is known hides none of those behind it from a scraper") {
  ObservedStep step;
  step.step = 30;
  for (const char* name : {"first", "second", "third"}) step.gradients.emplace_back().name = name;
  step.gradients[0].lost = 0.25;
  step.gradients[2].lost = 0.5;

  std::string folder = (std::filesystem::temp_directory_path() / "tare-test-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/a.prom";
  MetricsFile file(path);
  file.take(step);
  std::ifstream written(path);
  const std::string text{std::istreambuf_iterator<char>(written), {}};
  std::filesystem::remove_all(folder);

  CHECK(text.find("tare_monitor_step{run=\"" + path + "\"} 30\n") != std::string::npos);
  CHECK(text.find(",layer=\"first\"} 0.25\n") != std::string::npos);
  CHECK(text.find("second") == std::string::npos);
  CHECK(text.find(",layer=\"third\"} 0.5\n") != std::string::npos);
}

TEST_CASE("a monitor whose metrics are to go where a checkpoint lies leaves that as it is") {
  std::string folder = (std::filesystem::temp_directory_path() / "tare-test-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/a.pt";
  std::ofstream(path) << "PK\x03\x04";
  MetricsFile file(path);
  file.take(ObservedStep());
  std::ifstream kept(path);
  const std::string text{std::istreambuf_iterator<char>(kept), {}};
  std::filesystem::remove_all(folder);
  CHECK(text == "PK\x03\x04");
  CHECK(file.failure().find("something else than tare's metrics") != std::string::npos);
}
