// Megatron's arguments as a configuration, and its choice between a dynamic scaler, a constant one and none.
#include "lib/base/error.hpp"
#include "lib/codec/json.hpp"
#include "lib/scaler/config.hpp"
#include "lib/scaler/scaler.hpp"
#include "tests/catch.hpp"

using namespace tare;
using Catch::Contains;
using rule::PolicyId;

namespace {

ScalerConfig configured(const std::string& members) {
  return parse_config((R"({"policy":"megatron",)" + members + "}").c_str());
}

std::unique_ptr<LossScaler> scaler_of(const std::string& members) {
  return make_scaler(configured(members));
}

std::string refusal(const std::string& members) {
  try {
    configured(members);
  } catch (const Error& error) {
    return error.what();
  }
  return "taken";
}

void step(LossScaler& scaler, bool overflow) {
  scaler.report_overflow(overflow, nullptr);
  scaler.update(nullptr);
}

std::int64_t skipped(const LossScaler& scaler) {
  return integer_of(get(scaler.save(nullptr), "statistics.skipped"), "skipped");
}

}  // namespace

TEST_CASE("Megatron's arguments are keys, and choose as Megatron does") {
  struct Choice {
    const char* members;
    PolicyId id;
    double scale;
  };
  const double usual = 4294967296.0;
  const Choice choices[] = {
      {R"("fp16":true)", PolicyId::megatron, usual},
      {R"("fp16":true,"loss_scale":null)", PolicyId::megatron, usual},
      {R"("fp16":true,"loss_scale":0)", PolicyId::megatron, usual},
      {R"("fp16":true,"initial_loss_scale":1024)", PolicyId::megatron, 1024},
      {R"("initial_loss_scale":1024)", PolicyId::megatron, 1024},
      {R"("loss_scale":4096)", PolicyId::megatron_constant, 4096},
      {R"("fp16":true,"loss_scale":4096,"initial_loss_scale":8,"hysteresis":2)", PolicyId::megatron_constant, 4096},
      {R"("bf16":true,"loss_scale":4096)", PolicyId::megatron_constant, 4096},
      {R"("bf16":true)", PolicyId::megatron_none, 1},
      {R"("bf16":true,"fp16":false,"initial_loss_scale":8)", PolicyId::megatron_none, 1},
      {R"("fp16":false,"bf16":false,"loss_scale":4096)", PolicyId::megatron_none, 1},
      {R"("fp16":false)", PolicyId::megatron_none, 1},
      {R"("variant":"constant","loss_scale":2)", PolicyId::megatron_constant, 2},
  };
  for (const Choice& choice : choices) {
    CAPTURE(choice.members);
    CHECK(configured(choice.members).start.policy.id == choice.id);
    CHECK(scaler_of(choice.members)->scale(nullptr) == choice.scale);
  }
  const rule::MegatronParams& params =
      configured(R"("fp16":true,"min_loss_scale":4,"loss_scale_window":50.0,"hysteresis":3)")
          .start.policy.params.megatron;
  CHECK(params.min_scale == 4);
  CHECK(params.growth_interval == 50);  // Megatron's own configuration declares it a float
  CHECK(params.hysteresis == 3);
}

TEST_CASE("What Megatron refuses is refused, and two names of one value") {
  CHECK_THAT(refusal(R"("fp16":true,"bf16":true)"), Contains("fp16 and bf16"));
  CHECK_THAT(refusal(R"("fp16":1)"), Contains("neither true nor false"));
  CHECK_THAT(refusal(R"("initial_loss_scale":8,"initial_scale":8)"), Contains("the same parameter"));
  CHECK_THAT(refusal(R"("bf16":true,"floor":8)"), Contains("no scale to keep in bounds"));
  CHECK_THAT(refusal(R"("loss_scale":-1)"), Contains("loss_scale is -1"));
  CHECK_THAT(refusal(R"("loss_scale_windw":5)"), Contains("has no \"loss_scale_windw\""));
}

TEST_CASE("Megatron's constant scaler saves {}, skips overflows, and loads nothing") {
  const auto scaler = scaler_of(R"("loss_scale":4096)");
  step(*scaler, true);
  step(*scaler, false);
  CHECK(scaler->scale(nullptr) == 4096);
  CHECK(skipped(*scaler) == 1);
  const ScalerState saved = scaler->save(nullptr);
  CHECK(saved.fields.empty());
  const char* others[] = {R"({"policy":"megatron","fields":{}})",
                          R"({"policy":"megatron","fields":{"scale":8,"growth_tracker":1,"hysteresis_tracker":2}})",
                          R"({"policy":"megatron","params":{"variant":"constant","loss_scale":8},"fields":{}})"};
  for (const char* other : others) {
    scaler->load(state_from_json(other, "a state"), nullptr);
    CHECK(scaler->scale(nullptr) == 4096);
    CHECK(scaler->save(nullptr) == saved);
  }
  CHECK(make_scaler(parse_config(nullptr, saved))->scale(nullptr) == 4096);
  scaler->set_scale(512, nullptr);  // what is set comes back, though {} does not hold it
  CHECK(make_scaler(parse_config(nullptr, scaler->save(nullptr)))->scale(nullptr) == 512);
}

TEST_CASE("{} loads into a dynamic scaler of Megatron's as there: it lacks every key") {
  const auto scaler = scaler_of(R"("fp16":true)");
  CHECK_THROWS_WITH(scaler->load(state_from_json(R"({"policy":"megatron","fields":{}})", "a state"), nullptr),
                    Contains("fields.scale") && Contains("fields.hysteresis_tracker"));
}

TEST_CASE("Without a scaler Megatron takes every step, and there is no scale to set") {
  const auto scaler = scaler_of(R"("bf16":true)");
  step(*scaler, true);
  CHECK(skipped(*scaler) == 0);
  CHECK(scaler->scale(nullptr) == 1);
  CHECK_THROWS_WITH(scaler->set_scale(8, nullptr), Contains("no scale to set"));
  scaler->load(state_from_json(R"({"policy":"megatron","fields":{"scale":8}})", "a state"), nullptr);
  CHECK(scaler->scale(nullptr) == 1);
  CHECK(make_scaler(parse_config(nullptr, scaler->save(nullptr)))->scale(nullptr) == 1);
}
