// Configurations: the framework's names and tare's words, and clear refusals.
#include "lib/scaler/config.hpp"

#include "lib/base/error.hpp"
#include "lib/codec/json.hpp"
#include "lib/scaler/scaler.hpp"
#include "tests/catch.hpp"
#include "tests/vectors.hpp"

using namespace tare;
using Catch::Contains;

namespace {

std::string refusal(const std::string& config) {
  try {
    parse_config(config.c_str());
  } catch (const Error& error) {
    CHECK((error.status == Status::invalid_argument || error.status == Status::unsupported));
    return std::string(error.what()) + " | " + error.hint;
  }
  return "taken";
}

double scale_of(const std::string& config) {
  return make_scaler(parse_config(config.c_str()))->scale(nullptr);
}

}  // namespace

TEST_CASE("native names, roles and their aliases configure the same") {
  CHECK(scale_of(R"({"policy":"torch","init_scale":128})") == 128);
  CHECK(scale_of(R"({"policy":"torch","initial_scale":"0x1p7"})") == 128);
  CHECK(scale_of(R"({"policy":"megatron"})") == 4294967296.0);
  CHECK(parse_config(R"({"policy":"torch","window":7})").start.policy.params.torch.growth_interval == 7);
  CHECK(parse_config(R"({"policy":"deepspeed","window":7})").start.policy.params.deepspeed_zero.scale_window == 7);
}

TEST_CASE("variants are chosen by the framework's key or by \"variant\"") {
  CHECK(parse_config(R"({"policy":"deepspeed","variant":"fused"})").start.policy.id == rule::PolicyId::deepspeed_fused);
  CHECK(parse_config(R"({"policy":"mindspore","kind":"fixed"})").start.policy.id == rule::PolicyId::mindspore_fixed);
  CHECK(parse_config(R"({"policy":"mindspore","variant":"fixed"})").start.policy.id == rule::PolicyId::mindspore_fixed);
}

TEST_CASE("what is wrong is named with what is allowed") {
  CHECK_THAT(refusal("{}"), Contains("no \"policy\""));
  CHECK_THAT(refusal("nonsense"), Contains("not JSON"));
  CHECK_THAT(refusal(R"({"policy":"troch"})"), Contains("no policy \"troch\"") && Contains("megatron"));
  CHECK_THAT(refusal(R"({"policy":"torch","growht":2})"), Contains("has no \"growht\"") && Contains("growth_factor"));
  CHECK_THAT(refusal(R"({"policy":"torch","growth_factor":1})"), Contains("growth_factor is 1, allowed: more than 1"));
  CHECK_THAT(refusal(R"({"policy":"torch","growth_factor":"two"})"), Contains("growth_factor"));
  CHECK_THAT(refusal(R"({"policy":"torch","growth_interval":1.5})"), Contains("whole number"));
  CHECK_THAT(refusal(R"({"policy":"torch","threads":0})"), Contains("threads is 0, allowed: 1 to 1024"));
  CHECK_THAT(refusal(R"({"policy":"torch","threads":true})"), Contains("threads is no whole number"));
  CHECK_THAT(refusal(R"({"policy":"torch","threads":"2"})"), Contains("threads is no whole number"));
  CHECK_THAT(refusal(R"({"policy":"torch","growth_interval":true})"), Contains("allowed: at least 1"));
  CHECK_THAT(refusal(R"({"policy":"torch","device":"cuda:x"})"), Contains("cuda:0, cuda:1"));
  CHECK_THAT(refusal(R"({"policy":"torch","device":"cuda:-1"})"), Contains("cuda:0, cuda:1"));
  CHECK_THAT(refusal(R"({"policy":"torch","device":"cuda:1234"})"), Contains("cuda:0, cuda:1"));
  CHECK_THAT(refusal(R"({"policy":"torch","device":"tpu"})"), Contains("no device \"tpu\""));
  CHECK_THAT(refusal(R"({"policy":"torch","floor":8,"ceiling":4})"), Contains("floor is above ceiling"));
  CHECK_THAT(refusal(R"({"policy":"torch","floor":3.5e38})"), Contains("floor 3.5e+38 is more than torch can hold"));
  CHECK_THAT(refusal(R"({"policy":"jmp","dtype":"float16","loss_scale":1024,"min_loss_scale":1,"floor":70000})"),
             Contains("is more than jmp can hold"));
  CHECK_THAT(refusal(R"({"policy":"deepspeed","variant":"sideways"})"), Contains("zero, fused, unfused, static"));
}

TEST_CASE("a parameter that is set by two of its names is refused, whatever it is set to") {
  CHECK_THAT(refusal(R"({"policy":"torch","init_scale":2,"initial_scale":2})"),
             Contains("init_scale and initial_scale are the same parameter"));
  CHECK_THAT(refusal(R"({"policy":"torch","window":3,"threads":1,"growth_interval":4})"),
             Contains("window and growth_interval are the same parameter"));
  CHECK_THAT(refusal(R"({"policy":"mindspore","kind":"fixed","variant":"dynamic"})"),
             Contains("kind is \"fixed\" and variant \"dynamic\""));
}

TEST_CASE("what policies are listed with as defaults configures them, by name and by role") {
  const vectors::Json listed = vectors::Json::parse(policies_json());
  int tried = 0;
  for (const vectors::Json& policy : listed.at("policies")) {
    vectors::Json config = {{"policy", policy.at("policy")}};
    if (!policy.at("variant").is_null()) config["variant"] = policy.at("variant");
    const std::string usual = state_to_json(make_scaler(parse_config(config.dump().c_str()))->save(nullptr));
    for (const vectors::Json& parameter : policy.at("parameters")) {
      for (const char* spelling : {"name", "role"}) {
        if (parameter.at(spelling).is_null()) continue;
        vectors::Json again = config;
        again[parameter.at(spelling).get<std::string>()] = parameter.at("default");
        INFO(again.dump());
        CHECK(state_to_json(make_scaler(parse_config(again.dump().c_str()))->save(nullptr)) == usual);
        ++tried;
      }
    }
  }
  CHECK(tried > 150);
}

TEST_CASE("floor and ceiling hold the scale, and are off by default") {
  const auto scaler =
      make_scaler(parse_config(R"({"policy":"torch","initial_scale":4,"floor":2,"ceiling":8,"window":1})"));
  const auto step = [&](bool overflow) {
    scaler->report_overflow(overflow, nullptr);
    scaler->update(nullptr);
    return scaler->scale(nullptr);
  };
  CHECK(step(true) == 2);
  CHECK(step(true) == 2);
  CHECK(step(false) == 4);
  CHECK(step(false) == 8);
  CHECK(step(false) == 8);
  scaler->set_scale(0.5, nullptr);
  CHECK(scaler->scale(nullptr) == 2);
  scaler->set_scale(8, nullptr);
  const ScalerState state = scaler->save(nullptr);
  CHECK(number_of(get(state, "floor"), "floor") == 2);
  CHECK(integer_of(get(state, "statistics.steps"), "") == 5);
  CHECK(integer_of(get(state, "statistics.skipped"), "") == 2);
  CHECK(integer_of(get(state, "statistics.growths"), "") == 2);
  CHECK(integer_of(get(state, "statistics.backoffs"), "") == 1);
}

TEST_CASE("a scaler made from a state goes on there, and its configuration may change parameters") {
  const ScalerState state = state_from_json(
      R"({"policy":"torch","params":{"growth_interval":9},"fields":{"scale":64,"_growth_tracker":8}})", "x");
  const auto scaler = make_scaler(parse_config(R"({"threads":2,"growth_factor":4})", state));
  scaler->report_overflow(false, nullptr);
  scaler->update(nullptr);
  CHECK(scaler->scale(nullptr) == 256);
  CHECK_THROWS_WITH(parse_config(R"({"policy":"nemo"})", state), Contains("the state is of policy \"torch\""));
}

TEST_CASE("a configuration may name another variant for a state where that keeps the same fields") {
  const ScalerState fused = state_from_json(
      R"({"policy":"deepspeed","params":{"variant":"fused","scale_window":9},"fields":{"cur_scale":1,"cur_iter":4}})",
      "x");
  const auto scaler = make_scaler(parse_config(R"({"variant":"unfused"})", fused));
  for (int i = 0; i < 20; ++i) {
    scaler->report_overflow(true, nullptr);
    scaler->update(nullptr);
  }
  CHECK(scaler->scale(nullptr) == 0.25);  // the floor of the variant's own
  CHECK(integer_of(get(scaler->save(nullptr), "cur_iter"), "") == 24);
  CHECK(integer_of(get(scaler->save(nullptr), "scale_window"), "") == 9);

  const auto refusal = [&](const char* config) {
    CHECK_THROWS_WITH(parse_config(config, fused), Contains("the state is of policy \"deepspeed fused\""));
  };
  refusal(R"({"variant":"zero"})");
  refusal(R"({"variant":"static"})");
  refusal(R"({"policy":"torch","variant":"unfused"})");
  CHECK_THROWS_WITH(parse_config(R"({"variant":"sideways"})", fused), Contains("no variant \"sideways\""));
}
