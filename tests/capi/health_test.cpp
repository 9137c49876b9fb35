// tare_health_*: the same answers as the command's.
#include <tare/tare.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/places.hpp"

using nlohmann::json;

namespace {

constexpr const char* to_zero = TARE_TEST_DATA "/traces/apex/to-zero";
constexpr const char* every_step = TARE_TEST_DATA "/traces/megatron/core-0.5.0-every1";
constexpr const char* collapsed = TARE_TEST_DATA "/corpus/transformers/run_collapse/run";

using Call = int32_t (*)(tare_text**, const char* const*, uint64_t, const char*, tare_error*);

json answer_of(Call call, const char* path, const char* options) {
  tare_error error = TARE_ERROR_INIT;
  tare_text* text = nullptr;
  const char* paths[] = {path};
  INFO(path);
  REQUIRE(call(&text, paths, 1, options, &error) == TARE_OK);
  json answer = json::parse(tare_text_data(text));
  tare_text_destroy(text);
  return answer;
}

int32_t status_of(Call call, const char* path, const char* options) {
  tare_error error = TARE_ERROR_INIT;
  tare_text* text = nullptr;
  const char* paths[] = {path};
  const int32_t status = call(&text, paths, 1, options, &error);
  tare_text_destroy(text);
  return status;
}

bool has_code(const json& answer, const char* code) {
  const json& findings = answer.at("findings");
  return std::any_of(findings.begin(), findings.end(), [&](const json& finding) { return finding.at("code") == code; });
}

}  // namespace

TEST_CASE("the doctor's findings come through the C ABI, of logs and of checkpoints") {
  const json answer = answer_of(tare_health_doctor, to_zero, nullptr);
  CHECK(answer.at("schema") == "tare.findings/1");
  CHECK(has_code(answer, "collapse-to-zero"));
  const json run = answer_of(tare_health_doctor, collapsed, "{}");
  CHECK(has_code(run, "scale-zero"));
  CHECK(run.at("last_healthy").at("fields").at("scale").get<double>() >= 1);
}

TEST_CASE("thresholds come through the C ABI, and unknown ones are refused") {
  CHECK(status_of(tare_health_doctor, to_zero, R"({"thresholds":{"low-scale":2}})") == TARE_OK);
  CHECK(status_of(tare_health_doctor, to_zero, R"({"thresholds":{"lowest-scale":2}})") == TARE_E_INVALID_ARGUMENT);
  CHECK(status_of(tare_health_doctor, to_zero, R"({"verbose":true})") == TARE_E_INVALID_ARGUMENT);
  CHECK(status_of(tare_health_doctor, "/nowhere/at/all", nullptr) != TARE_OK);
}

TEST_CASE("a timeline and a simulation come through the C ABI") {
  const json timeline = answer_of(tare_health_timeline, collapsed, nullptr);
  CHECK(timeline.at("schema") == "tare.timeline/1");
  CHECK(timeline.at("checkpoints").size() == 9);
  const json simulation = answer_of(tare_health_simulate, every_step,
                                    R"({"policy":"megatron","window":[50,100],"hysteresis":2,"explain":true})");
  CHECK(simulation.at("schema") == "tare.simulate/1");
  CHECK(simulation.at("settings").size() == 2);
  CHECK_FALSE(simulation.at("explanation").at("exact").empty());
  CHECK(status_of(tare_health_simulate, to_zero, nullptr) == TARE_E_REFUSED);
  CHECK(status_of(tare_health_simulate, every_step, R"({"policy":"torch","hysteresis":2})") == TARE_E_INVALID_ARGUMENT);
}

TEST_CASE("the checkpoints below a folder come through the C ABI, a line each") {
  tare_text* text = nullptr;
  const char* paths[] = {collapsed, TARE_TEST_DATA "/corpus/torch/train-t2.15"};
  REQUIRE(tare_health_list(&text, paths, 2, nullptr, nullptr) == TARE_OK);
  std::istringstream lines(tare_text_data(text));
  std::vector<json> listed;
  for (std::string line; std::getline(lines, line);) listed.push_back(json::parse(line));
  tare_text_destroy(text);
  REQUIRE(listed.size() == 10);
  CHECK(listed[0].at("schema") == "tare.ls/1");
  CHECK(listed[0].at("step") == 500);
  CHECK(listed[8].at("path") == std::string(collapsed) + "/checkpoint-4500");
  CHECK(listed[8].at("scale") == 0);
  CHECK(listed[8].at("findings")[0].at("code") == "scale-zero");
  CHECK(listed[9].at("dialect") == "torch");
  CHECK(status_of(tare_health_list, "/nowhere/at/all", nullptr) == TARE_E_IO);
  CHECK(status_of(tare_health_list, TARE_TEST_DATA "/traces/apex", nullptr) == TARE_E_NOT_FOUND);
  CHECK(status_of(tare_health_list, collapsed, R"({"jobs":2})") == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_health_list(nullptr, paths, 2, nullptr, nullptr) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_health_list(&text, paths, 0, nullptr, nullptr) == TARE_E_INVALID_ARGUMENT);
}

TEST_CASE("recipes of FP8 are simulated over a checkpoint's histories through the C ABI") {
  constexpr const char* delayed = TARE_TEST_DATA "/corpus/transformer_engine/te2.20_delayed";
  const json answer = answer_of(tare_health_simulate, delayed,
                                R"({"policy":"transformer_engine","history":[1,1024],"algo":"max","margin":[0,1]})");
  CHECK(answer.at("schema") == "tare.simulate-fp8/1");
  CHECK(answer.at("tensors") == 20);
  const json& recipes = answer.at("recipes");
  REQUIRE(recipes.size() == 4);
  CHECK(recipes[0].at("casts") == 20 * 1022);
  CHECK(recipes[2].at("saturated").get<int>() < recipes[0].at("saturated").get<int>());  // a longer history
  CHECK(recipes[3].at("saturated").get<int>() < recipes[2].at("saturated").get<int>());  // and a margin
  CHECK(recipes[3].at("mean_unused_bits").get<double>() > recipes[2].at("mean_unused_bits").get<double>());
  const json unfused =
      answer_of(tare_health_simulate, delayed, R"({"policy":"transformer_engine","parameters":{"variant":"unfused"}})");
  CHECK(unfused.at("recipes")[0].at("parameters").at("variant") == "unfused");
}

TEST_CASE("options of FP8 and of loss scales that do not fit are refused through the C ABI") {
  constexpr const char* delayed = TARE_TEST_DATA "/corpus/transformer_engine/te2.20_delayed";
  for (const char* options :
       {R"({"policy":"te_current","history":3})", R"({"policy":"fp8_lm"})", R"({"algo":"newest"})",
        R"({"policy":"transformer_engine","format":"e4m3"})", R"({"amax":["x"],"format":"e9"})",
        R"({"window":["many"]})", R"({"policy":"torch","window":"500"})", R"({"window":null})",
        R"({"policy":"transformer_engine","window":5})", R"({"policy":"torch","history":3})"}) {
    INFO(options);
    CHECK(status_of(tare_health_simulate, delayed, options) == TARE_E_INVALID_ARGUMENT);
  }
  CHECK(status_of(tare_health_simulate, every_step, R"({"policy":"te_current"})") == TARE_E_NOT_FOUND);
  CHECK(status_of(tare_health_simulate, every_step, R"({"amax":["no such series"]})") == TARE_E_NOT_FOUND);
}
