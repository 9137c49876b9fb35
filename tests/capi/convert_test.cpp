// A state in another policy's terms, through the C ABI: the converted state runs, and the account is JSON.
#include <tare/tare.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.hpp"

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* torch_state =
    R"({"schema":"tare.state/1","policy":"torch","params":{"growth_interval":4,"growth_factor":2.0,"backoff_factor":0.5},)"
    R"("fields":{"scale":4096.0,"_growth_tracker":3}})";

tare_state* state_of(const std::string& json) {
  tare_state* state = nullptr;
  REQUIRE(tare_state_from_json(&state, json.data(), json.size(), nullptr) == TARE_OK);
  return state;
}

double scale_after_clean_steps(const tare_state* state, int steps) {
  tare_scaler* scaler = nullptr;
  REQUIRE(tare_scaler_create_from_state(&scaler, state, nullptr, nullptr) == TARE_OK);
  for (int i = 0; i < steps; ++i) {
    REQUIRE(tare_scaler_report_overflow(scaler, 0, nullptr, nullptr) == TARE_OK);
    REQUIRE(tare_scaler_update(scaler, nullptr, nullptr) == TARE_OK);
  }
  double scale = 0;
  REQUIRE(tare_scaler_scale(&scale, scaler, nullptr, nullptr) == TARE_OK);
  tare_scaler_destroy(scaler);
  return scale;
}

}  // namespace

TEST_CASE("A converted state grows at the same clean step as its source, under every family of rules") {
  tare_state* source = state_of(torch_state);
  for (const char* policy :
       {"megatron", "deepspeed", "deepspeed fused", "flax", "mindspore", "paddle", "keras", "jmp"}) {
    INFO(policy);
    tare_state* state = nullptr;
    tare_text* report = nullptr;
    tare_error error = TARE_ERROR_INIT;
    REQUIRE(tare_state_convert(&state, source, policy, &report, &error) == TARE_OK);
    const Json account = Json::parse(tare_text_data(report));
    CHECK(account.at("schema") == "tare.conversion/1");
    CHECK(account.at("values").size() >= 2);
    CHECK(scale_after_clean_steps(state, 1) == 8192.0);
    CHECK(scale_after_clean_steps(state, 4) == 8192.0);
    tare_text_destroy(report);
    tare_state_destroy(state);
  }
  tare_state_destroy(source);
}

TEST_CASE("A conversion takes no report, and says what is wrong with its arguments") {
  tare_state* source = state_of(torch_state);
  tare_state* state = nullptr;
  tare_error error = TARE_ERROR_INIT;
  CHECK(tare_state_convert(&state, source, "nemo", nullptr, &error) == TARE_OK);
  tare_state_destroy(state);
  CHECK(tare_state_convert(&state, source, "no_such", nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(state == nullptr);
  CHECK_THAT(error.message, Catch::Contains("megatron"));
  CHECK(tare_state_convert(&state, source, "layerwise", nullptr, &error) == TARE_E_UNSUPPORTED);
  CHECK(tare_state_convert(nullptr, source, "nemo", nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_state_convert(&state, nullptr, "nemo", nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_state_convert(&state, source, nullptr, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  tare_state_destroy(source);
}
