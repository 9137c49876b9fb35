// tare_trace_read: the same answer as the command's.
#include <tare/tare.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.hpp"
#include "tests/places.hpp"

using nlohmann::json;

namespace {

constexpr const char* megatron = TARE_TEST_DATA "/traces/megatron/v2.5-every10/log.txt";
constexpr const char* board = TARE_TEST_DATA "/traces/tensorboard/tensorboardx/tb";

}  // namespace

TEST_CASE("a run's trace comes through the C ABI") {
  tare_error error = TARE_ERROR_INIT;
  tare_text* text = nullptr;
  const char* paths[] = {megatron};
  REQUIRE(tare_trace_read(&text, paths, 1, nullptr, &error) == TARE_OK);
  const json answer = json::parse(tare_text_data(text));
  tare_text_destroy(text);
  CHECK(answer.at("schema") == "tare.trace/1");
  CHECK(answer.at("sources").at(0).at("kind") == "megatron-log");
  CHECK(answer.at("steps").size() == 60);
  CHECK(answer.at("steps").at(1).at("skipped") == 8);
  CHECK(answer.at("segments").at(0).at("last") == 600);
}

TEST_CASE("a trace's series can be named, and other options are refused") {
  tare_error error = TARE_ERROR_INIT;
  tare_text* text = nullptr;
  const char* paths[] = {board};
  REQUIRE(tare_trace_read(&text, paths, 1, R"({"tag":"scale"})", &error) == TARE_OK);
  CHECK(json::parse(tare_text_data(text)).at("steps").size() == 500);
  tare_text_destroy(text);
  text = nullptr;
  CHECK(tare_trace_read(&text, paths, 1, R"({"tags":"scale"})", &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_trace_read(&text, nullptr, 1, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_trace_read(&text, paths, 0, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  const char* gone[] = {"/nowhere/at/all.log"};
  CHECK(tare_trace_read(&text, gone, 1, nullptr, &error) == TARE_E_NOT_FOUND);
  CHECK(text == nullptr);
}
