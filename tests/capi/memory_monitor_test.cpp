// A monitor where memory runs out.
#include <tare/tare.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/capi/failing_memory.hpp"
#include "tests/capi/scratch.hpp"
#include "tests/catch.hpp"

using namespace tare::test;

// The thread that writes gives up a file for which it has no memory, and the calls go on.
TEST_CASE("a monitor that gets no memory is status 3, and what it wrote is whole") {
  const Scratch folder;
  const std::string path = folder.path("a.jsonl");
  const std::string config =
      R"({"every":1,"groups":{"weights":{"names":["a*"]}},"warn":{"looks":1,"ignore":["x*"]},"sinks":[{"jsonl":")" +
      path + R"("},{"tensorboard":")" + folder.path("runs") + R"("},{"openmetrics":")" + folder.path("a.prom") +
      R"("}]})";
  float weight = INFINITY;
  const float scale = 512;
  const char* name = "a name that is long enough for an allocation";
  const tare_tensor tensor{&weight, 1, TARE_F32, 0};
  tare_scaler* scaler = nullptr;
  tare_grads* grads = nullptr;
  REQUIRE(tare_scaler_create(&scaler, R"({"policy":"torch"})", nullptr) == TARE_OK);
  REQUIRE(tare_grads_create(&grads, scaler, &tensor, 1, nullptr) == TARE_OK);
  REQUIRE(tare_grads_observe(grads, nullptr, nullptr) == TARE_OK);
  fail_everywhere_or_give(TARE_OK, "monitor", [&] {
    tare_monitor* monitor = nullptr;
    tare_text* text = nullptr;
    int32_t status = tare_monitor_create(&monitor, config.c_str(), nullptr);
    int32_t looks = 0;
    if (status == TARE_OK) status = tare_monitor_looks(&looks, monitor, "weights", name, nullptr);
    if (status == TARE_OK) status = tare_monitor_observe(monitor, "weights", &name, &tensor, 1, nullptr);
    if (status == TARE_OK) status = tare_monitor_observe_scaled(monitor, "x", &name, &tensor, 1, 8, nullptr);
    if (status == TARE_OK)
      status = tare_monitor_observe_on(monitor, "cpu", "y", &name, &tensor, 1, 8, nullptr, nullptr);
    if (status == TARE_OK)
      status = tare_monitor_observe_scaled_on(monitor, "cpu", "y", &name, &tensor, 1, &scale, nullptr, nullptr);
    if (status == TARE_OK) status = tare_monitor_observe_again(monitor, "z", name, "y", name, nullptr);
    if (status == TARE_OK) status = tare_monitor_add_grads(monitor, grads, &name, 1, nullptr, nullptr);
    if (status == TARE_OK) status = tare_monitor_add_grads_on(monitor, grads, &name, 1, nullptr, nullptr);
    if (status == TARE_OK) status = tare_monitor_add_scaler(monitor, 512, 1, 0, 0, 0, nullptr);
    if (status == TARE_OK)
      status = tare_monitor_add_scaler_on(monitor, "cpu", &scale, 1, nullptr, nullptr, nullptr, nullptr, nullptr);
    if (status == TARE_OK) status = tare_monitor_step(monitor, 1, nullptr, nullptr);
    if (status == TARE_OK) status = tare_monitor_settled(&looks, monitor, nullptr);
    if (status == TARE_OK) status = tare_monitor_wait(monitor, nullptr);
    if (status == TARE_OK) status = tare_monitor_report(&text, monitor, nullptr);
    tare_text_destroy(text);
    if (status == TARE_OK) status = tare_monitor_findings(&text, monitor, nullptr);
    tare_text_destroy(text);
    if (status == TARE_OK) status = tare_monitor_at_scale(&text, monitor, 8, "f16", nullptr);
    tare_text_destroy(text);
    tare_state* state = nullptr;
    if (status == TARE_OK) status = tare_monitor_save(&state, monitor, nullptr);
    if (status == TARE_OK) status = tare_monitor_load(monitor, state, nullptr);
    tare_state_destroy(state);
    tare_monitor_destroy(monitor);
    return status;
  });
  tare_grads_destroy(grads);
  tare_scaler_destroy(scaler);
  std::ifstream file(path);
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    CHECK(nlohmann::json::parse(line).at("tensors").size() == 5);
    CHECK(nlohmann::json::parse(line).at("gradients").size() == 2);
    CHECK(nlohmann::json::parse(line).at("findings").size() == 2);
  }
  CHECK(lines > 0);
}
