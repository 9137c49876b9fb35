// tare_watch: a run that is followed tells what `tare watch` tells.
#include <tare/tare.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/capi/scratch.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

using nlohmann::json;
using tare::test::Scratch;

namespace {

std::string iteration(int number, double scale, int skipped) {
  return " iteration " + std::to_string(number) +
         "/ 1000 | elapsed time per iteration (ms): 100.0 | loss scale: " + std::to_string(scale) +
         " | number of skipped iterations: " + std::to_string(skipped) + " | number of nan iterations: 0 |\n";
}

/// A run's log that is written to.
class Run {
 public:
  explicit Run(const Scratch& folder) : log_(folder.path("train.log")) {}
  void write(int from, int to, double scale, int skipped) {
    for (int i = from; i <= to; ++i) log_ << iteration(i, skipped != 0 ? scale /= 2 : scale, skipped);
    log_.flush();
  }

 private:
  std::ofstream log_;
};

struct Watched {
  explicit Watched(const std::string& path, const char* options = nullptr) {
    const char* paths[] = {path.c_str()};
    REQUIRE(tare_watch_create(&handle, paths, 1, options, &error) == TARE_OK);
  }
  ~Watched() { tare_watch_destroy(handle); }

  std::vector<json> look(double seconds = 0) {
    tare_text* text = nullptr;
    REQUIRE(tare_watch_look(&text, handle, seconds, &error) == TARE_OK);
    std::istringstream lines(tare_text_data(text));
    tare_text_destroy(text);
    std::vector<json> events;
    for (std::string line; std::getline(lines, line);) events.push_back(json::parse(line));
    return events;
  }
  json status() {
    tare_text* text = nullptr;
    REQUIRE(tare_watch_status(&text, handle, &error) == TARE_OK);
    json told = json::parse(tare_text_data(text));
    tare_text_destroy(text);
    return told;
  }

  tare_watch* handle = nullptr;
  tare_error error = TARE_ERROR_INIT;
};

std::size_t count(const std::vector<json>& events, const char* what) {
  return static_cast<std::size_t>(
      std::count_if(events.begin(), events.end(), [&](const json& event) { return event.at("event") == what; }));
}

}  // namespace

TEST_CASE("a watched run tells what changed since the last look, and how it stands") {
  const Scratch folder;
  Run run(folder);
  run.write(1, 20, 65536, 0);
  Watched watch(folder.folder());
  CHECK(count(watch.look(), "found") == 1);
  CHECK(watch.status().at("event") == "stands");
  CHECK(watch.status().at("steps") == 20);
  CHECK(watch.look().empty());
  run.write(21, 21, 65536, 1);
  const std::vector<json> events = watch.look(30);
  REQUIRE(count(events, "scale") == 1);
  CHECK(events.front().at("schema") == "tare.watch/1");
  CHECK(watch.status().at("scale") == 32768);
  CHECK(watch.status().at("overflows") == 1);
  run.write(22, 40, 32768, 1);
  CHECK(count(watch.look(30), "finding") > 0);
  tare_text* metrics = nullptr;
  REQUIRE(tare_watch_metrics(&metrics, watch.handle, &watch.error) == TARE_OK);
  CHECK(std::string(tare_text_data(metrics)).find("tare_overflows_total") != std::string::npos);
  tare_text_destroy(metrics);
}

TEST_CASE("the metrics of a run that stands still say since when, however often it is looked at") {
  const Scratch folder;
  Run run(folder);
  run.write(1, 20, 65536, 0);
  Watched watch(folder.folder());
  const auto changed = [&] {
    tare_text* metrics = nullptr;
    REQUIRE(tare_watch_metrics(&metrics, watch.handle, &watch.error) == TARE_OK);
    const std::string text = tare_text_data(metrics);
    tare_text_destroy(metrics);
    const std::size_t line = text.find("\ntare_changed_timestamp_seconds{");
    REQUIRE(line != std::string::npos);
    return std::stod(text.substr(text.find("} ", line) + 2));
  };
  watch.look();
  const double first = changed();
  CHECK(first > 1.7e9);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  CHECK(watch.look().empty());
  CHECK(changed() == first);
  run.write(21, 30, 65536, 0);  // steps as before, of which nothing is to be told
  CHECK(watch.look(30).empty());
  CHECK(changed() > first);
}

TEST_CASE("a look waits for a change, and no longer than it was told to") {
  const Scratch folder;
  Run run(folder);
  run.write(1, 20, 65536, 0);
  Watched watch(folder.folder());
  watch.look();
  using Clock = std::chrono::steady_clock;
  const Clock::time_point began = Clock::now();
  CHECK(watch.look(0.2).empty());
  CHECK(Clock::now() - began >= std::chrono::milliseconds(190));
  std::thread writer([&run] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    run.write(21, 21, 65536, 1);
  });
  CHECK(count(watch.look(600), "scale") == 1);  // comes long before ten minutes are over
  writer.join();
}

TEST_CASE("a look returns at the first change though a checkpoint has not settled, and tells one as it has") {
  using Clock = std::chrono::steady_clock;
  const Scratch folder;
  Run run(folder);
  run.write(1, 20, 65536, 0);
  Watched watch(folder.folder(), R"({"settle":3})");
  watch.look();
  std::filesystem::copy(std::string(TARE_TEST_DATA) + "/corpus/torch/train-t2.15/checkpoint.pth",
                        folder.path("step_10.pth"));
  const Clock::time_point began = Clock::now();
  watch.look(60);  // at which it is seen, and has not settled
  run.write(21, 21, 65536, 1);
  CHECK(count(watch.look(60), "scale") == 1);
  CHECK(Clock::now() - began < std::chrono::seconds(3));
  std::size_t told = 0;
  while (told == 0 && Clock::now() - began < std::chrono::seconds(30)) told = count(watch.look(60), "checkpoint");
  CHECK(told == 1);
  CHECK(Clock::now() - began < std::chrono::seconds(30));
}

TEST_CASE("what cannot be watched is refused") {
  tare_error error = TARE_ERROR_INIT;
  tare_watch* watch = nullptr;
  tare_text* text = nullptr;
  const char* nowhere[] = {"/nowhere/at/all"};
  CHECK(tare_watch_create(&watch, nowhere, 0, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_watch_create(&watch, nullptr, 1, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_watch_create(&watch, nowhere, 1, R"({"settle":-1})", &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_watch_create(&watch, nowhere, 1, R"({"thresholds":{"no-such":1}})", &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_watch_create(&watch, nowhere, 1, R"({"interval":1})", &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(watch == nullptr);
  REQUIRE(tare_watch_create(&watch, nowhere, 1, nullptr, &error) == TARE_OK);
  CHECK(tare_watch_look(&text, watch, 0, &error) == TARE_E_NOT_FOUND);
  CHECK(tare_watch_look(&text, watch, -1, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_watch_look(&text, watch, std::nan(""), &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_watch_look(&text, nullptr, 0, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_watch_status(&text, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_watch_metrics(nullptr, watch, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(text == nullptr);
  tare_watch_destroy(watch);
  tare_watch_destroy(nullptr);
}
