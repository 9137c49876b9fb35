// tare_monitor: what it tells of tensors, when it looks, and what it refuses.
#include <tare/tare.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/capi/monitored.hpp"
#include "tests/capi/scratch.hpp"
#include "tests/catch.hpp"

using nlohmann::json;
using namespace tare::test;

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
  const std::vector<json> lines = lines_of(monitor, folder.path("a.jsonl"));
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
  const std::vector<json> lines = lines_of(monitor, folder.path("a.jsonl"));
  REQUIRE(lines.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const int step = 100 + 3 * static_cast<int>(i);
    CHECK(lines[i].at("step") == step);
    REQUIRE(lines[i].at("tensors").size() == 1);
    CHECK(lines[i].at("tensors").front().at("max") == step);
  }
  CHECK(monitor.report().at("steps") == 7);
}

TEST_CASE("a group has steps and names of its own") {
  Monitor monitor(
      R"({"groups":{"weights":{"every":4,"names":["*.w","a"]},"inputs":{"every":0},"outputs":{"names":["x*"]}},"every":2})");
  float value = 1;
  const tare_tensor tensors[] = {{&value, 1, TARE_F32, 0}, {&value, 1, TARE_F32, 0}, {&value, 1, TARE_F32, 0}};
  const char* names[] = {"1.w", "1.b", "x"};
  std::vector<std::string> seen;
  for (int step = 0; step < 6; ++step) {
    for (const char* group : {"weights", "inputs", "outputs", "loss"}) {
      for (const char* name : names) {
        int32_t looks = -1;
        REQUIRE(tare_monitor_looks(&looks, monitor.handle, group, name, nullptr) == TARE_OK);
        if (looks != 0) seen.push_back(std::to_string(step) + group + name);
      }
      REQUIRE(tare_monitor_observe(monitor.handle, group, names, tensors, 3, nullptr) == TARE_OK);
    }
    monitor.step(step);
    std::vector<std::string> told;
    const json report = monitor.report();
    for (const json& one : report.at("tensors")) {
      told.push_back(one.at("group").get<std::string>() + one.at("name").get<std::string>());
    }
    const std::vector<std::string> fewer{"outputsx", "loss1.w", "loss1.b", "lossx"};
    std::vector<std::string> all = fewer;
    all.insert(all.begin(), "weights1.w");
    CHECK(told == (step < 2 || step > 3 ? all : fewer));
  }
  CHECK(seen == std::vector<std::string>{"0weights1.w", "0outputsx", "0loss1.w", "0loss1.b", "0lossx", "2outputsx",
                                         "2loss1.w", "2loss1.b", "2lossx", "4weights1.w", "4outputsx", "4loss1.w",
                                         "4loss1.b", "4lossx"});
  CHECK(tare_monitor_looks(nullptr, monitor.handle, "a", "b", nullptr) == TARE_E_INVALID_ARGUMENT);
}

TEST_CASE("gradients come from the pass that unscales them, and are not looked at again") {
  Monitor monitor(R"({"every":2})");
  Gradients list(R"({"policy":"torch","initial_scale":8,"underflow_threshold":0.5})");
  const char* names[] = {"first", "second"};
  REQUIRE(tare_grads_unscale(list.handle, nullptr, nullptr) == TARE_OK);
  list.first[0] = NAN;  // what the pass did not see
  REQUIRE(tare_monitor_add_grads(monitor.handle, list.handle, names, 2, nullptr, nullptr) == TARE_OK);
  monitor.step(7);
  json report = monitor.report();
  REQUIRE(report.at("gradients").size() == 2);
  const json& first = report.at("gradients").front();
  CHECK(first.at("name") == "first");
  CHECK(first.at("dtype") == "f32");
  CHECK(first.at("count") == 4);
  CHECK(first.at("zeros") == 1);
  CHECK(first.at("below") == 1);
  CHECK(first.at("max_abs") == 12);
  CHECK(first.at("norm") == std::sqrt(144 + 16 + 0.0625));
  CHECK(report.at("gradients").back().at("max_abs") == "inf");
  CHECK(report.at("scaler") == json{{"scale", 8.0}, {"steps", 0}, {"skipped", 0}, {"growths", 0}, {"backoffs", 0}});
  REQUIRE(tare_scaler_update(list.scaler, nullptr, nullptr) == TARE_OK);
  REQUIRE(tare_monitor_add_grads(monitor.handle, list.handle, names, 2, nullptr, nullptr) == TARE_OK);
  monitor.step(8);
  CHECK(monitor.report() == [&] { return report["steps"] = 2, report; }());  // every second step is looked at
  REQUIRE(tare_monitor_add_grads(monitor.handle, list.handle, names, 2, nullptr, nullptr) == TARE_OK);
  REQUIRE(tare_monitor_add_grads(monitor.handle, list.handle, names, 2, nullptr, nullptr) == TARE_OK);
  monitor.step(9);
  CHECK(monitor.report().at("gradients").size() == 4);
  CHECK(monitor.report().at("scaler") ==
        json{{"scale", 4.0}, {"steps", 1}, {"skipped", 1}, {"growths", 0}, {"backoffs", 1}});
}

TEST_CASE("gradients with other names than the list has tensors are refused, and nothing is noted") {
  Monitor monitor("");
  Gradients list(R"({"policy":"torch"})");
  const char* names[] = {"first", "second"};
  const char* holed[] = {"first", nullptr};
  const auto add = [&](const tare_grads* grads, const char* const* some, uint64_t count) {
    return tare_monitor_add_grads(monitor.handle, grads, some, count, nullptr, nullptr);
  };
  CHECK(add(list.handle, names, 1) == TARE_E_MISMATCH);
  CHECK(add(list.handle, names, UINT64_MAX) == TARE_E_MISMATCH);
  CHECK(add(list.handle, nullptr, 2) == TARE_E_INVALID_ARGUMENT);
  CHECK(add(list.handle, holed, 2) == TARE_E_INVALID_ARGUMENT);
  CHECK(add(nullptr, names, 2) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_monitor_add_grads(nullptr, list.handle, names, 2, nullptr, nullptr) == TARE_E_INVALID_ARGUMENT);
  monitor.step(1);
  CHECK(monitor.report().at("gradients").empty());
  CHECK(monitor.report().at("scaler").is_null());
}

TEST_CASE("what is wrong is told in the words of the doctor") {
  Monitor monitor(R"({"every":1,"warn":{"looks":2,"underflow":0.2,"ignore":["second"]}})");
  Gradients list(R"({"policy":"torch","initial_scale":4})");
  list.second[0] = 1;
  const char* names[] = {"first", "second"};
  const auto findings = [&] {
    tare_text* text = nullptr;
    REQUIRE(tare_monitor_findings(&text, monitor.handle, nullptr) == TARE_OK);
    json told = json::parse(tare_text_data(text));
    tare_text_destroy(text);
    CHECK(told.at("schema") == "tare.findings/1");
    CHECK(told.at("targets").empty());
    CHECK(told.at("last_healthy").is_null());
    return told.at("findings");
  };
  CHECK(findings().empty());
  for (int step = 5; step < 7; ++step) {
    REQUIRE(tare_grads_observe(list.handle, nullptr, nullptr) == TARE_OK);
    REQUIRE(tare_monitor_add_grads(monitor.handle, list.handle, names, 2, nullptr, nullptr) == TARE_OK);
    monitor.step(step);
  }
  const json told = findings();
  REQUIRE(told.size() == 3);
  CHECK(told[0].at("code") == "gradient-underflow");
  CHECK(told[0].at("severity") == "warning");
  CHECK(told[0].at("step") == 5);
  CHECK(told[0].at("evidence").at("share") == 0.25);
  CHECK(told[1].at("code") == "layer-underflow");
  CHECK(told[1].at("path") == "first");
  CHECK(told[2].at("code") == "low-scale");
  CHECK(monitor.report().at("findings") == told);
  CHECK(monitor.report().at("signals").at("lost") == 0.25);
  CHECK(monitor.report().at("gradients").front().at("headroom_bits") == std::log2(65504.0 / 12));
}

TEST_CASE("a scaler of somebody else's is told in the place of the lists'") {
  Monitor monitor(R"({"every":2})");
  Gradients list(R"({"policy":"torch","initial_scale":8})");
  const char* names[] = {"first", "second"};
  REQUIRE(tare_grads_observe(list.handle, nullptr, nullptr) == TARE_OK);
  REQUIRE(tare_monitor_add_grads(monitor.handle, list.handle, names, 2, nullptr, nullptr) == TARE_OK);
  REQUIRE(tare_monitor_add_scaler(monitor.handle, 512, 40, 3, 2, 1, nullptr) == TARE_OK);
  monitor.step(40);
  const json seen{{"scale", 512.0}, {"steps", 40}, {"skipped", 3}, {"growths", 2}, {"backoffs", 1}};
  CHECK(monitor.report().at("scaler") == seen);
  REQUIRE(tare_monitor_add_scaler(monitor.handle, 1, 41, 4, 2, 2, nullptr) == TARE_OK);  // not looked at
  monitor.step(41);
  monitor.step(42);
  CHECK(monitor.report().at("scaler").is_null());
  CHECK(tare_monitor_add_scaler(nullptr, 1, 41, 4, 2, 2, nullptr) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_monitor_add_scaler(monitor.handle, 1, -5, 0, 0, 0, nullptr) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_monitor_add_scaler(monitor.handle, 1, 5, 0, 0, -1, nullptr) == TARE_E_INVALID_ARGUMENT);
}

TEST_CASE("a monitor's state lies beside its scaler's in one file, and a resumed run goes on with both") {
  const Scratch folder;
  for (const char* ending : {"run.json", "run.h5"}) {
    const std::string path = folder.path(ending);
    Gradients list(R"({"policy":"torch","initial_scale":4})");
    list.second[0] = 1;
    const char* names[] = {"first", "second"};
    const char* config = R"({"every":2,"warn":{"looks":3,"ignore":["second"]}})";
    const auto look = [&](Monitor& monitor, int step) {
      REQUIRE(tare_grads_observe_and_update(list.handle, nullptr, nullptr) == TARE_OK);
      REQUIRE(tare_monitor_add_grads(monitor.handle, list.handle, names, 2, nullptr, nullptr) == TARE_OK);
      monitor.step(step);
    };
    {
      Monitor monitor(config);
      for (int step = 0; step < 3; ++step) look(monitor, step);
      CHECK(monitor.report().at("findings").empty());
      tare_states* states = nullptr;
      tare_state* one = nullptr;
      REQUIRE(tare_states_create(&states, nullptr) == TARE_OK);
      REQUIRE(tare_scaler_save(&one, list.scaler, nullptr, nullptr) == TARE_OK);
      REQUIRE(tare_states_add(states, "scaler", one, nullptr) == TARE_OK);
      tare_state_destroy(one);
      REQUIRE(tare_monitor_save(&one, monitor.handle, nullptr) == TARE_OK);
      REQUIRE(tare_states_add(states, "monitor", one, nullptr) == TARE_OK);
      tare_state_destroy(one);
      REQUIRE(tare_states_write(states, path.c_str(), nullptr) == TARE_OK);
      tare_states_destroy(states);
    }
    tare_text* text = nullptr;
    REQUIRE(tare_checkpoint_inspect(&text, path.c_str(), nullptr, nullptr) == TARE_OK);
    const json inspected = json::parse(tare_text_data(text));
    tare_text_destroy(text);
    REQUIRE(inspected.at("scalers").size() == 1);  // a monitor's state is no scaler's
    CHECK(inspected.at("scalers").front().at("path") == "scaler");
    tare_states* states = nullptr;
    tare_state* one = nullptr;
    REQUIRE(tare_states_read(&states, path.c_str(), nullptr) == TARE_OK);
    REQUIRE(tare_states_get(&one, states, "monitor", nullptr) == TARE_OK);
    Monitor resumed(config);
    REQUIRE(tare_monitor_load(resumed.handle, one, nullptr) == TARE_OK);
    tare_scaler* scaler = nullptr;
    CHECK(tare_scaler_create_from_state(&scaler, one, nullptr, nullptr) == TARE_E_UNSUPPORTED);
    CHECK(resumed.report().at("steps") == 3);
    look(resumed, 3);  // every second step is looked at
    CHECK_FALSE(resumed.report().contains("step"));
    look(resumed, 4);
    const json findings = resumed.report().at("findings");
    REQUIRE(findings.size() == 3);
    CHECK(findings[0].at("code") == "gradient-underflow");
    CHECK(findings[0].at("step") == 0);
    tare_state_destroy(one);
    REQUIRE(tare_states_get(&one, states, "scaler", nullptr) == TARE_OK);
    CHECK(tare_monitor_load(resumed.handle, one, nullptr) == TARE_E_MISMATCH);
    CHECK(resumed.report().at("findings") == findings);
    CHECK(tare_monitor_load(resumed.handle, nullptr, nullptr) == TARE_E_INVALID_ARGUMENT);
    CHECK(tare_monitor_load(nullptr, one, nullptr) == TARE_E_INVALID_ARGUMENT);
    tare_state_destroy(one);
    tare_states_destroy(states);
  }
}

TEST_CASE("what a loss scale or a format would do to gradients is computed from what was seen of them") {
  Monitor monitor(R"({"every":1})");
  const auto at = [&](double scale, const char* format) {
    tare_text* text = nullptr;
    REQUIRE(tare_monitor_at_scale(&text, monitor.handle, scale, format, &monitor.error) == TARE_OK);
    json told = json::parse(tare_text_data(text));
    tare_text_destroy(text);
    return told;
  };
  const json before = at(1, "f16");
  CHECK(before.at("step").is_null());
  CHECK(before.at("tensors").empty());
  float scaled[] = {0, 0x1p-10F, -0x1.8p-4F, 0x1p10F, INFINITY, 0x1p-50F};  // at 2^16
  const char* name = "w";
  const tare_tensor tensor{scaled, 6, TARE_F32, 0};
  REQUIRE(tare_monitor_observe_scaled(monitor.handle, "gradients", &name, &tensor, 1, 65536, nullptr) == TARE_OK);
  monitor.step(3);
  const json report = monitor.report();
  const json& seen = report.at("tensors").front();
  CHECK(seen.at("scale") == 65536);
  CHECK(seen.at("max_abs") == 0x1p-6);
  CHECK(seen.at("min_abs") == 0x1p-66);
  CHECK(seen.at("exponents").at("below") == 1);
  CHECK(seen.at("exponents").at("bins").at(48 - 26) == 1);
  const auto bounds = [](int least, int most) { return json{least, most}; };
  const json one = at(1, "f16");
  CHECK(one.at("schema") == "tare.at-scale/1");
  CHECK(one.at("step") == 3);
  CHECK(one.at("scale") == 1);
  CHECK(one.at("format") == "f16");
  REQUIRE(one.at("tensors").size() == 1);
  const json& told = one.at("tensors").front();
  CHECK(told.at("group") == "gradients");
  CHECK(told.at("name") == "w");
  CHECK(told.at("count") == 6);
  CHECK(told.at("zeros") == 1);
  CHECK(told.at("becomes_zero") == bounds(2, 2));       // 2^-66 and 2^-26
  CHECK(told.at("becomes_subnormal") == bounds(1, 1));  // 1.5 * 2^-20
  CHECK(told.at("becomes_infinite") == bounds(0, 0));
  CHECK(at(0x1p22, "f16").at("tensors").front().at("becomes_infinite") == bounds(1, 1));
  CHECK(at(1, "bf16").at("tensors").front().at("becomes_zero") == bounds(0, 0));
  CHECK(at(1, "f8e5m2").at("tensors").front().at("becomes_zero") == bounds(3, 3));
  tare_text* text = nullptr;
  for (const double bad : {0.0, -1.0, double{INFINITY}, double{NAN}}) {
    CHECK(tare_monitor_at_scale(&text, monitor.handle, bad, "f16", nullptr) == TARE_E_INVALID_ARGUMENT);
    CHECK(tare_monitor_observe_scaled(monitor.handle, "gradients", &name, &tensor, 1, bad, nullptr) ==
          TARE_E_INVALID_ARGUMENT);
  }
  CHECK(tare_monitor_at_scale(&text, monitor.handle, 1, "f32", &monitor.error) == TARE_E_INVALID_ARGUMENT);
  CHECK(std::string(monitor.error.message).find("there is no format \"f32\"") != std::string::npos);
  CHECK(tare_monitor_at_scale(&text, monitor.handle, 1, nullptr, nullptr) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_monitor_at_scale(&text, nullptr, 1, "f16", nullptr) == TARE_E_INVALID_ARGUMENT);
  CHECK(text == nullptr);
  monitor.step(4);
  CHECK(monitor.report().at("tensors").empty());
}

TEST_CASE("values on the CPU are looked at by that name, too, and settled at once") {
  Monitor monitor(R"({"every":1})");
  float values[] = {1, -2, 0, INFINITY};
  const char* name = "w";
  const tare_tensor tensor{values, 4, TARE_F32, 0};
  REQUIRE(tare_monitor_observe_on(monitor.handle, "cpu", "weights", &name, &tensor, 1, 2, nullptr, nullptr) == TARE_OK);
  monitor.step(5);
  int32_t settled = 0;
  REQUIRE(tare_monitor_settled(&settled, monitor.handle, nullptr) == TARE_OK);
  CHECK(settled == 1);
  CHECK(tare_monitor_wait(monitor.handle, nullptr) == TARE_OK);
  const json report = monitor.report();
  const json& seen = report.at("tensors").front();
  CHECK(seen.at("max_abs") == 1);
  CHECK(seen.at("infinities") == 1);
  const float two = 2;
  const float none = 0;
  REQUIRE(tare_monitor_observe_scaled_on(monitor.handle, "cpu", "gradients", &name, &tensor, 1, &two, nullptr,
                                         nullptr) == TARE_OK);
  monitor.step(6);
  CHECK(monitor.report().at("tensors").front().at("max_abs") == 1);
  for (const float* wrong : {&none, static_cast<const float*>(nullptr)}) {
    CHECK(tare_monitor_observe_scaled_on(monitor.handle, "cpu", "gradients", &name, &tensor, 1, wrong, nullptr,
                                         nullptr) == TARE_E_INVALID_ARGUMENT);
  }
  for (const char* device : {"gpu", "cuda:", "cuda:-1", "", "CPU", "cuda:0x"}) {
    CHECK(tare_monitor_observe_scaled_on(monitor.handle, device, "weights", &name, &tensor, 1, &two, nullptr,
                                         nullptr) == TARE_E_INVALID_ARGUMENT);
    CHECK(tare_monitor_observe_on(monitor.handle, device, "weights", &name, &tensor, 1, 2, nullptr, &monitor.error) ==
          TARE_E_INVALID_ARGUMENT);
    CHECK(std::string(monitor.error.message).find("there is no device \"" + std::string(device) + "\"") == 0);
  }
  CHECK(tare_monitor_observe_on(monitor.handle, nullptr, "weights", &name, &tensor, 1, 2, nullptr, nullptr) ==
        TARE_E_INVALID_ARGUMENT);
  CHECK(tare_monitor_observe_on(monitor.handle, "cpu", "weights", &name, &tensor, 1, 0, nullptr, nullptr) ==
        TARE_E_INVALID_ARGUMENT);
  CHECK(tare_monitor_settled(nullptr, monitor.handle, nullptr) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_monitor_settled(&settled, nullptr, nullptr) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_monitor_wait(nullptr, nullptr) == TARE_E_INVALID_ARGUMENT);
}

TEST_CASE("a tensor that goes by two names is looked at once and told under both") {
  Monitor monitor(R"({"every":2,"groups":{"inputs":{"names":["b.*"]}}})");
  float values[] = {1, -2, 0, INFINITY};
  const auto again = [&](const char* name, const char* known) {
    return tare_monitor_observe_again(monitor.handle, "inputs", name, "outputs", known, &monitor.error);
  };
  const char* name = "a";
  const tare_tensor tensor{values, 4, TARE_F32, 0};
  REQUIRE(tare_monitor_observe_scaled(monitor.handle, "outputs", &name, &tensor, 1, 2, nullptr) == TARE_OK);
  std::ranges::fill(values, 7.F);  // behind the look
  REQUIRE(again("b.0", "a") == TARE_OK);
  REQUIRE(again("c.0", "a") == TARE_OK);  // is not looked at
  REQUIRE(tare_monitor_observe_again(monitor.handle, "outputs", "b", "inputs", "b.0", nullptr) == TARE_OK);
  CHECK(again("b.1", "nobody") == TARE_E_INVALID_ARGUMENT);
  CHECK(std::string(monitor.error.message).find("no \"nobody\" of \"outputs\" was looked at in this step") == 0);
  CHECK(tare_monitor_observe_again(monitor.handle, "inputs", "b.1", "weights", "a", nullptr) ==
        TARE_E_INVALID_ARGUMENT);
  monitor.step(5);
  json told = monitor.report().at("tensors");
  REQUIRE(told.size() == 3);
  for (json& one : told) {
    CHECK(one.at("max_abs") == 1);
    CHECK(one.at("infinities") == 1);
  }
  CHECK(told[1].at("group") == "inputs");
  CHECK(told[1].at("name") == "b.0");
  CHECK(told[2].at("name") == "b");
  CHECK(again("b.1", "a") == TARE_OK);  // a step that is not looked at
  monitor.step(6);
  CHECK(again("b.1", "a") == TARE_E_INVALID_ARGUMENT);  // of another step
  CHECK(tare_monitor_observe_again(nullptr, "inputs", "b.1", "outputs", "a", nullptr) == TARE_E_INVALID_ARGUMENT);
  CHECK(again(nullptr, "a") == TARE_E_INVALID_ARGUMENT);
  CHECK(again("b.1", nullptr) == TARE_E_INVALID_ARGUMENT);
}

TEST_CASE("a list and a scaler on the CPU are added by the calls for GPUs, too, at once") {
  Monitor monitor(R"({"every":1})");
  Gradients list(R"({"policy":"torch","initial_scale":1024})");
  const char* names[] = {"first", "second"};
  REQUIRE(tare_grads_observe(list.handle, nullptr, nullptr) == TARE_OK);
  REQUIRE(tare_monitor_add_grads_on(monitor.handle, list.handle, names, 2, nullptr, nullptr) == TARE_OK);
  monitor.step(1);
  const json of_list = monitor.report();
  CHECK(of_list.at("gradients").size() == 2);
  CHECK(of_list.at("scaler").at("scale") == 1024);
  const float scale = 512;
  const int64_t counts[] = {2, 3, 4};
  REQUIRE(tare_monitor_add_scaler_on(monitor.handle, "cpu", &scale, 9, &counts[0], &counts[1], &counts[2], nullptr,
                                     nullptr) == TARE_OK);
  monitor.step(2);
  const json told = monitor.report().at("scaler");
  CHECK(told.at("scale") == 512);
  CHECK(told.at("steps") == 9);
  CHECK(told.at("skipped") == 2);
  CHECK(told.at("growths") == 3);
  CHECK(told.at("backoffs") == 4);
  REQUIRE(tare_monitor_add_scaler_on(monitor.handle, "cpu", &scale, 9, nullptr, nullptr, nullptr, nullptr, nullptr) ==
          TARE_OK);
  monitor.step(3);
  CHECK(monitor.report().at("scaler").at("skipped") == 0);
  CHECK(tare_monitor_add_grads_on(monitor.handle, list.handle, names, 1, nullptr, nullptr) == TARE_E_MISMATCH);
  CHECK(tare_monitor_add_grads_on(monitor.handle, nullptr, names, 2, nullptr, nullptr) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_monitor_add_scaler_on(monitor.handle, "cpu", nullptr, 9, nullptr, nullptr, nullptr, nullptr, nullptr) ==
        TARE_E_INVALID_ARGUMENT);
  CHECK(tare_monitor_add_scaler_on(monitor.handle, "gpu", &scale, 9, nullptr, nullptr, nullptr, nullptr, nullptr) ==
        TARE_E_INVALID_ARGUMENT);
}

TEST_CASE("where there is no GPU nothing is read as if it were there, and nothing is noted") {
  tare_scaler* on_gpu = nullptr;
  if (tare_scaler_create(&on_gpu, R"({"policy":"torch","device":"cuda:0"})", nullptr) == TARE_OK) {
    return tare_scaler_destroy(on_gpu);
  }
  Monitor monitor(R"({"every":1})");
  float values[2] = {1, 2};
  const char* name = "w";
  const tare_tensor tensor{values, 2, TARE_F32, 0};
  const float scale = 512;
  for (const char* device : {"cuda", "cuda:0", "cuda:1"}) {
    INFO(device);
    CHECK(tare_monitor_observe_on(monitor.handle, device, "g", &name, &tensor, 1, 1, nullptr, nullptr) != TARE_OK);
    CHECK(tare_monitor_observe_scaled_on(monitor.handle, device, "g", &name, &tensor, 1, &scale, nullptr, nullptr) !=
          TARE_OK);
    CHECK(tare_monitor_add_scaler_on(monitor.handle, device, &scale, 9, nullptr, nullptr, nullptr, nullptr, nullptr) !=
          TARE_OK);
  }
  monitor.step(1);
  CHECK(monitor.report().at("tensors").empty());
  CHECK(monitor.report().at("scaler").is_null());
}

TEST_CASE("layers that lose gradients are counted, and each parameter's looks without any") {
  const Scratch folder;
  const std::string path = folder.path("a.prom");
  Monitor monitor(json{{"every", 1}, {"warn", {{"zeros", 0.25}}}, {"sinks", {{{"openmetrics", path}}}}}.dump());
  Gradients list(R"({"policy":"torch","initial_scale":1024})");
  list.second[0] = list.second[1] = 0;
  const char* names[] = {"first", "second"};
  for (int step = 5; step < 8; ++step) {
    REQUIRE(tare_grads_observe(list.handle, nullptr, nullptr) == TARE_OK);
    REQUIRE(tare_monitor_add_grads(monitor.handle, list.handle, names, 2, nullptr, nullptr) == TARE_OK);
    monitor.step(step);
  }
  const json report = monitor.report();
  CHECK(report.at("signals").at("layers") == 2);
  CHECK(report.at("signals").at("layers_lost") == 0.5);  // first: one of four
  CHECK(report.at("signals").at("layers_zero") == 1.0);
  CHECK(report.at("gradients").at(0).at("zero_looks") == 0);
  CHECK(report.at("gradients").at(0).at("zero_since").is_null());
  CHECK(report.at("gradients").at(1).at("zero_looks") == 3);
  CHECK(report.at("gradients").at(1).at("zero_since") == 5);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CHECK(text.find("\ntare_monitor_layers_lost{run=\"" + path + "\"} 0.5\n") != std::string::npos);
  CHECK(text.find("\ntare_monitor_layers_zero{run=\"" + path + "\"} 1\n") != std::string::npos);
}

TEST_CASE("where no value is finite there are no numbers of them") {
  Monitor monitor("{}");
  double nan = NAN;
  REQUIRE(monitor.observe("w", {&nan, 1, TARE_F64, 0}) == TARE_OK);
  monitor.step(0);
  const json tensor = monitor.report().at("tensors").front();
  CHECK(tensor.at("nans") == 1);
  for (const char* key : {"min", "max", "max_abs", "mean", "mean_abs", "std", "norm", "min_abs"})
    CHECK(tensor.at(key).is_null());
}

TEST_CASE("const calls on one monitor, and calls on different ones, run at the same time") {
  const Scratch folder;
  Monitor shared(config(1, folder.path("shared.jsonl")));
  float weight = 3;
  REQUIRE(shared.observe("w", {&weight, 1, TARE_F32, 0}) == TARE_OK);
  shared.step(1);
  std::vector<int32_t> wrong(6, 0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    const std::string own_config = config(1, folder.path(std::to_string(i) + ".jsonl"));
    threads.emplace_back([&shared, &wrong, own_config, i] {
      tare_monitor* own = nullptr;
      tare_scaler* scaler = nullptr;
      tare_grads* list = nullptr;
      float gradient = 1;
      const tare_tensor its{&gradient, 1, TARE_F32, 0};
      wrong[i] += tare_monitor_create(&own, own_config.c_str(), nullptr);
      wrong[i] += tare_scaler_create(&scaler, R"({"policy":"torch"})", nullptr);
      wrong[i] += tare_grads_create(&list, scaler, &its, 1, nullptr);
      wrong[i] += tare_grads_observe(list, nullptr, nullptr);
      for (int step = 0; step < 50; ++step) {
        const float value = static_cast<float>(step);
        const float eight = 8;
        const char* name = "w";
        const tare_tensor tensor{const_cast<float*>(&value), 1, TARE_F32, 0};
        tare_text* text = nullptr;
        tare_state* state = nullptr;
        int32_t looks = 0;
        wrong[i] += tare_monitor_observe(own, "weights", &name, &tensor, 1, nullptr);
        wrong[i] += tare_monitor_add_scaler(own, 8, step, 0, 0, 0, nullptr);
        wrong[i] += tare_monitor_step(own, step, nullptr, nullptr);
        wrong[i] += tare_monitor_save(&state, shared.handle, nullptr);
        wrong[i] += tare_monitor_load(own, state, nullptr);
        tare_state_destroy(state);
        wrong[i] += tare_monitor_looks(&looks, shared.handle, "weights", "w", nullptr) + (looks == 1 ? 0 : 1);
        wrong[i] += tare_monitor_observe_scaled(own, "gradients", &name, &tensor, 1, 8, nullptr);
        wrong[i] += tare_monitor_observe_on(own, "cpu", "weights", &name, &tensor, 1, 1, nullptr, nullptr);
        wrong[i] +=
            tare_monitor_observe_scaled_on(own, "cpu", "gradients", &name, &tensor, 1, &eight, nullptr, nullptr);
        wrong[i] += tare_monitor_observe_again(own, "outputs", name, "gradients", name, nullptr);
        wrong[i] += tare_monitor_add_grads_on(own, list, &name, 1, nullptr, nullptr);
        wrong[i] += tare_monitor_add_scaler_on(own, "cpu", &value, step, nullptr, nullptr, nullptr, nullptr, nullptr);
        wrong[i] += tare_monitor_settled(&looks, own, nullptr) + tare_monitor_wait(own, nullptr);
        wrong[i] += tare_monitor_at_scale(&text, shared.handle, 8, "bf16", nullptr);
        wrong[i] += json::parse(tare_text_data(text)).at("tensors").size() == 1 ? 0 : 1;
        tare_text_destroy(text);
        wrong[i] += tare_monitor_report(&text, shared.handle, nullptr);
        wrong[i] += json::parse(tare_text_data(text)).at("step") == 1 ? 0 : 1;
        tare_text_destroy(text);
      }
      tare_monitor_destroy(own);
      tare_grads_destroy(list);
      tare_scaler_destroy(scaler);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int32_t status : wrong) CHECK(status == 0);
}

TEST_CASE("what a monitor cannot take is refused, and nothing is noted") {
  tare_error error = TARE_ERROR_INIT;
  tare_monitor* none = nullptr;
  for (const char* bad : {"[]",
                          "{",
                          R"({"every":0})",
                          R"({"every":1.5})",
                          R"({"evry":1})",
                          R"({"sinks":{}})",
                          R"({"sinks":["a"]})",
                          R"({"sinks":[{"pigeon":"a"}]})",
                          R"({"sinks":[{"jsonl":""}]})",
                          R"({"sinks":[{"jsonl":"a\u0000b"}]})",
                          R"({"format":"f8"})",
                          R"({"warn":[]})",
                          R"({"warn":{"underflow":-1}})",
                          R"({"warn":{"underflow":1.01}})",
                          R"({"warn":{"rise":"a"}})",
                          R"({"warn":{"rize":0}})",
                          R"({"warn":{"zeros":1.5}})",
                          R"({"groups":[]})",
                          R"({"groups":{"a":1}})",
                          R"({"groups":{"a":{"evry":10}}})",
                          R"({"groups":{"a":{"every":15}}})",
                          R"({"groups":{"a":{"every":-10}}})",
                          R"({"groups":{"a":{"every":"10"}}})",
                          R"({"groups":{"a":{"names":"w"}}})",
                          R"({"groups":{"a":{"every":10}},"every":4})",
                          R"({"warn":{"ignore":"a"}})",
                          R"({"warn":{"ignore":[1]}})"}) {
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
