// A monitor, and gradients for it, as the tests of tare_monitor have them.
#pragma once

#include <tare/tare.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace tare::test {

/// A monitor and its error.
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
  nlohmann::json report() {
    tare_text* text = nullptr;
    REQUIRE(tare_monitor_report(&text, handle, &error) == TARE_OK);
    nlohmann::json told = nlohmann::json::parse(tare_text_data(text));
    tare_text_destroy(text);
    return told;
  }

  tare_monitor* handle = nullptr;
  tare_error error = TARE_ERROR_INIT;
};

/// Two tensors and their scaler.
struct Gradients {
  explicit Gradients(const char* config) {
    REQUIRE(tare_scaler_create(&scaler, config, nullptr) == TARE_OK);
    const tare_tensor tensors[] = {{first, 4, TARE_F32, 0}, {second, 2, TARE_F32, 0}};
    REQUIRE(tare_grads_create(&handle, scaler, tensors, 2, nullptr) == TARE_OK);
  }
  ~Gradients() {
    tare_grads_destroy(handle);
    tare_scaler_destroy(scaler);
  }
  Gradients(const Gradients&) = delete;
  Gradients& operator=(const Gradients&) = delete;

  float first[4] = {-12, 4, 0, 0.25F};
  float second[2] = {INFINITY, 1};
  tare_scaler* scaler = nullptr;
  tare_grads* handle = nullptr;
};

inline std::string config(int every, const std::string& path) {
  return nlohmann::json{{"every", every}, {"sinks", {{{"jsonl", path}}}}}.dump();
}

/// What is in the file once the monitor's thread has written it.
inline std::vector<nlohmann::json> lines_of(Monitor& monitor, const std::string& path) {
  monitor.report();
  std::ifstream file(path);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

}  // namespace tare::test
