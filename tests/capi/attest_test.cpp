// tare_checkpoint_attest: the same answer as the command's.
#include <tare/tare.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/capi/scratch.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

using nlohmann::json;

namespace {

constexpr const char* delayed = TARE_TEST_DATA "/corpus/transformer_engine/te2.20_delayed/model.pt";

int32_t attest(json& answer, const char* path, const char* options, tare_error* error) {
  tare_text* text = nullptr;
  const int32_t status = tare_checkpoint_attest(&text, path, options, error);
  if (status == TARE_OK) answer = json::parse(tare_text_data(text));
  CHECK((status == TARE_OK) == (text != nullptr));
  tare_text_destroy(text);
  return status;
}

}  // namespace

TEST_CASE("what pickles name comes through the C ABI with verdict, release and place") {
  tare_error error = TARE_ERROR_INIT;
  json answer;
  REQUIRE(attest(answer, delayed, nullptr, &error) == TARE_OK);
  CHECK(answer.at("schema") == "tare.attest/1");
  CHECK(answer.at("plain") == false);
  CHECK(answer.at("torch") == "2.15");
  CHECK(answer.at("safe_globals").empty());
  CHECK(answer.at("extra_states").size() == 4);
  CHECK(answer.at("extra_states")[0].at("refused") == true);
  bool found = false;
  for (const json& global : answer.at("globals")) {
    if (global.at("name") != "DelayedScaling") continue;
    found = true;
    CHECK(global.at("verdict") == "framework");
    CHECK(global.at("since").is_null());
    CHECK(global.at("places")[1].at("inside") == "layers.1._extra_state");
    CHECK(global.at("places")[1].at("file") == "model.pt");
  }
  CHECK(found);
  REQUIRE(attest(answer, TARE_TEST_DATA "/corpus/hostile/call-os-system/evil.pt", R"({"torch":"2.5"})", &error) ==
          TARE_OK);
  CHECK(answer.at("globals")[0].at("verdict") == "dangerous");
  CHECK(answer.at("torch") == "2.5");
}

TEST_CASE("of a run's older checkpoints attest says that it did not read them, unless all of them are asked for") {
  namespace fs = std::filesystem;
  const tare::test::Scratch run;
  for (const char* step : {"checkpoint-5", "checkpoint-10"}) {
    fs::create_directories(run.path(step));
    fs::copy_file(TARE_TEST_DATA "/corpus/torch/train-t2.15/checkpoint.pth", run.path(step) + "/scaler.pt");
  }
  tare_error error = TARE_ERROR_INIT;
  json answer;
  for (const char* options : {static_cast<const char*>(nullptr), R"({"all":false})"}) {
    REQUIRE(attest(answer, run.folder().c_str(), options, &error) == TARE_OK);
    CHECK(answer.at("plain") == false);
    REQUIRE(answer.at("unread").size() == 1);
    CHECK(answer.at("unread")[0].at("file") == "checkpoint-5");
  }
  REQUIRE(attest(answer, run.folder().c_str(), R"({"all":true})", &error) == TARE_OK);
  CHECK(answer.at("plain") == true);
  CHECK(answer.at("files") == 2);
}

TEST_CASE("bad arguments of attest get a status and a reason") {
  tare_error error = TARE_ERROR_INIT;
  json answer;
  CHECK(tare_checkpoint_attest(nullptr, delayed, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(attest(answer, nullptr, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(attest(answer, delayed, R"({"torch":"9.9"})", &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(std::string(error.message).find("9.9") != std::string::npos);
  CHECK(attest(answer, delayed, R"({"torch":2})", &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(attest(answer, delayed, R"({"more":true})", &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(attest(answer, "/nowhere", nullptr, &error) != TARE_OK);
}
