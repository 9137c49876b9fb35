// tare_monitor: what it tells of tensors, when it looks, and what it refuses.
#include <tare/tare.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/capi/scratch.hpp"
#include "tests/catch.hpp"

using nlohmann::json;
using tare::test::Scratch;

namespace {

struct Monitor {
  explicit Monitor(const std::string& config) {
    REQUIRE(tare_monitor_create(&handle, config.c_str(), &error) == TARE_OK);
  }
  ~Monitor() { tare_monitor_destroy(handle); }
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  int32_t observe(const char* name, tare_tensor tensor) {
    return tare_monitor_observe(handle, "weights", &name, &tensor, 1, &error);
  }
  void step(int64_t number) { REQUIRE(tare_monitor_step(handle, number, nullptr, &error) == TARE_OK); }
  json report() {
    tare_text* text = nullptr;
    REQUIRE(tare_monitor_report(&text, handle, &error) == TARE_OK);
    json told = json::parse(tare_text_data(text));
    tare_text_destroy(text);
    return told;
  }

  tare_monitor* handle = nullptr;
  tare_error error = TARE_ERROR_INIT;
};

std::string config(int every, const std::string& path) {
  return json{{"every", every}, {"sinks", {{{"jsonl", path}}}}}.dump();
}

std::vector<json> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(json::parse(line));
  return lines;
}

}  // namespace

TEST_CASE("a monitor tells of each tensor of the last step, and of every step in its file") {
  const Scratch folder;
  Monitor monitor(config(1, folder.path("a.jsonl")));
  float weights[] = {3, -4, 0, NAN};
  REQUIRE(monitor.observe("layer \"1\"\n", {weights, 4, TARE_F32, 0}) == TARE_OK);
  monitor.step(41);
  const json report = monitor.report();
  CHECK(report.at("schema") == "tare.monitor/1");
  CHECK(report.at("step") == 41);
  REQUIRE(report.at("tensors").size() == 1);
  const json& tensor = report.at("tensors").front();
  CHECK(tensor.at("group") == "weights");
  CHECK(tensor.at("name") == "layer \"1\"\n");
  CHECK(tensor.at("dtype") == "f32");
  CHECK(tensor.at("count") == 4);
  CHECK(tensor.at("nans") == 1);
  CHECK(tensor.at("zeros") == 1);
  CHECK(tensor.at("norm") == 5);
  CHECK(tensor.at("exponents").at("bins").size() == 64);
  monitor.step(42);
  const std::vector<json> lines = lines_of(folder.path("a.jsonl"));
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].at("step") == 41);
  CHECK(lines[0].at("tensors") == report.at("tensors"));
  CHECK(lines[1].at("tensors").empty());
}

TEST_CASE("of so many steps one is looked at, the first among them") {
  const Scratch folder;
  Monitor monitor(config(3, folder.path("a.jsonl")));
  float weight = 0;
  for (int step = 100; step < 107; ++step) {
    weight = static_cast<float>(step);
    REQUIRE(monitor.observe("w", {&weight, 1, TARE_F32, 0}) == TARE_OK);
    monitor.step(step);
  }
  const std::vector<json> lines = lines_of(folder.path("a.jsonl"));
  REQUIRE(lines.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const int step = 100 + 3 * static_cast<int>(i);
    CHECK(lines[i].at("step") == step);
    REQUIRE(lines[i].at("tensors").size() == 1);
    CHECK(lines[i].at("tensors").front().at("max") == step);
  }
  CHECK(monitor.report().at("steps") == 7);
}

TEST_CASE("where no value is finite there are no numbers of them") {
  Monitor monitor("{}");
  double nan = NAN;
  REQUIRE(monitor.observe("w", {&nan, 1, TARE_F64, 0}) == TARE_OK);
  monitor.step(0);
  const json tensor = monitor.report().at("tensors").front();
  CHECK(tensor.at("nans") == 1);
  for (const char* key : {"min", "max", "max_abs", "mean", "mean_abs", "std", "norm"}) CHECK(tensor.at(key).is_null());
}

TEST_CASE("a sink that cannot be written is told and stops nothing") {
  const Scratch folder;
  const std::string path = folder.path("missing/a.jsonl");
  Monitor monitor(config(1, path));
  CHECK(monitor.report().at("sinks").front().at("failure").is_null());
  monitor.step(1);
  monitor.step(2);
  const json report = monitor.report();
  CHECK(report.at("steps") == 2);
  CHECK(report.at("sinks").front().at("jsonl") == path);
  CHECK(report.at("sinks").front().at("failure") == "No such file or directory");
}

TEST_CASE("what a monitor cannot take is refused, and nothing is noted") {
  tare_error error = TARE_ERROR_INIT;
  tare_monitor* none = nullptr;
  for (const char* bad :
       {"[]", "{", R"({"every":0})", R"({"every":1.5})", R"({"evry":1})", R"({"sinks":{}})", R"({"sinks":["a"]})",
        R"({"sinks":[{"pigeon":"a"}]})", R"({"sinks":[{"jsonl":""}]})", R"({"sinks":[{"jsonl":"a\u0000b"}]})"}) {
    CHECK(tare_monitor_create(&none, bad, &error) == TARE_E_INVALID_ARGUMENT);
    CHECK(none == nullptr);
  }
  Monitor monitor("");
  float good[2] = {1, 2};
  const char* names[] = {"a", "b"};
  const tare_tensor tensors[] = {{good, 2, TARE_F32, 0}, {good, 2, 99, 0}};
  CHECK(tare_monitor_observe(monitor.handle, "g", names, tensors, 2, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_monitor_observe(monitor.handle, nullptr, names, tensors, 1, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_monitor_observe(monitor.handle, "g", nullptr, tensors, 1, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_monitor_observe(monitor.handle, "\xff", names, tensors, 1, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_monitor_observe(nullptr, "g", names, tensors, 1, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_monitor_observe(monitor.handle, "g", nullptr, nullptr, 0, &error) == TARE_OK);
  monitor.step(1);
  CHECK(monitor.report().at("tensors").empty());
}
