// Scalers, lists of gradients and FP8 slots where memory runs out.
#include <tare/tare.h>

#include <algorithm>
#include <string>

#include "tests/capi/failing_memory.hpp"
#include "tests/catch.hpp"

using namespace tare::test;

TEST_CASE("a failed allocation is status 3 and loses nothing") {
  fail_everywhere("create", [] {
    tare_scaler* scaler = nullptr;
    const int32_t status = tare_scaler_create(&scaler, R"({"policy":"megatron","window":100,"floor":2})", nullptr);
    tare_scaler_destroy(scaler);
    return status;
  });
  fail_everywhere("create with threads", [] {
    tare_scaler* scaler = nullptr;
    const int32_t status = tare_scaler_create(&scaler, R"({"policy":"torch","threads":2})", nullptr);
    tare_scaler_destroy(scaler);
    return status;
  });
  fail_everywhere("policies", [] {
    tare_text* text = nullptr;
    const int32_t status = tare_policies(&text, nullptr);
    tare_text_destroy(text);
    return status;
  });
  const std::string json =
      R"({"policy":"torch","fields":{"scale":"0x1p10","_growth_tracker":3},"other":[[1,2],["a",{}]]})";
  fail_everywhere("state_from_json", [&] {
    tare_state* state = nullptr;
    const int32_t status = tare_state_from_json(&state, json.data(), json.size(), nullptr);
    tare_state_destroy(state);
    return status;
  });
  tare_scaler* scaler = nullptr;
  REQUIRE(tare_scaler_create(&scaler, R"({"policy":"torch"})", nullptr) == TARE_OK);
  float values[8] = {};
  const tare_tensor tensor{values, 8, TARE_F32, 0};
  fail_everywhere("save and write as JSON", [&] {
    tare_state* state = nullptr;
    tare_text* text = nullptr;
    int32_t status = tare_scaler_save(&state, scaler, nullptr, nullptr);
    if (status == TARE_OK) status = tare_state_to_json(&text, state, nullptr);
    tare_text_destroy(text);
    tare_state_destroy(state);
    return status;
  });
  fail_everywhere("statistics", [&] {
    tare_text* text = nullptr;
    const int32_t status = tare_scaler_statistics(&text, scaler, nullptr, nullptr);
    tare_text_destroy(text);
    return status;
  });
  fail_everywhere("grads", [&] {
    tare_grads* grads = nullptr;
    const int32_t status = tare_grads_create(&grads, scaler, &tensor, 1, nullptr);
    tare_grads_destroy(grads);
    return status;
  });
  fail_everywhere("a step", [&] {
    const int32_t status = tare_scaler_unscale(scaler, &tensor, 1, nullptr, nullptr);
    const int32_t updated = tare_scaler_update(scaler, nullptr, nullptr);
    return status == TARE_OK ? updated : status;
  });
  fail_everywhere("statistics of grads", [&] {
    tare_grads* grads = nullptr;
    tare_text* text = nullptr;
    int32_t status = tare_grads_create(&grads, scaler, &tensor, 1, nullptr);
    if (status == TARE_OK) status = tare_grads_statistics(&text, grads, nullptr, nullptr);
    tare_text_destroy(text);
    tare_grads_destroy(grads);
    return status;
  });
  tare_scaler_destroy(scaler);
}

TEST_CASE("a failed allocation in a scaler that goes on from a state is status 3, and the scaler stays as it was") {
  tare_scaler* scaler = nullptr;
  tare_state* state = nullptr;
  REQUIRE(tare_scaler_create(&scaler, R"({"policy":"mindformers_adaptive","initial_scale":8})", nullptr) == TARE_OK);
  REQUIRE(tare_scaler_save(&state, scaler, nullptr, nullptr) == TARE_OK);
  REQUIRE(tare_state_set_number(state, "scale", 4, nullptr) == TARE_OK);
  for (const char* config : {R"({"floor":2})", R"({"threads":3})"}) {
    fail_everywhere(std::string("create from state with ") + config, [&] {
      tare_scaler* made = nullptr;
      const int32_t status = tare_scaler_create_from_state(&made, state, config, nullptr);
      tare_scaler_destroy(made);
      return status;
    });
  }
  const auto changes = [&](auto change) {
    return [=, &scaler] {
      int32_t status = tare_scaler_set_scale(scaler, 8, nullptr, nullptr);
      if (status == TARE_OK) status = change();
      double scale = 0;
      const int32_t asked = tare_scaler_scale(&scale, scaler, nullptr, nullptr);
      return asked == TARE_OK && scale == (status == TARE_OK ? 4 : 8) ? status : TARE_E_INTERNAL;
    };
  };
  fail_everywhere("load", changes([&] { return tare_scaler_load(scaler, state, nullptr, nullptr); }));
  fail_everywhere("set scale", changes([&] { return tare_scaler_set_scale(scaler, 4, nullptr, nullptr); }));
  tare_state_destroy(state);
  tare_scaler_destroy(scaler);
}

TEST_CASE("a failed allocation in the first steps is status 3 and loses nothing") {
  float values[4] = {1, 2, 3, 4};
  float written[4] = {};
  const tare_tensor in{values, 4, TARE_F32, 0};
  const tare_tensor out{written, 4, TARE_F32, 0};
  fail_everywhere("first steps", [&] {
    tare_scaler* scaler = nullptr;
    int32_t status = tare_scaler_create(&scaler, R"({"policy":"torch","threads":2})", nullptr);
    if (status == TARE_OK) status = tare_scaler_unscale(scaler, &in, 1, nullptr, nullptr);
    if (status == TARE_OK) status = tare_scaler_observe(scaler, &in, 1, nullptr, nullptr);
    if (status == TARE_OK) status = tare_scaler_update(scaler, nullptr, nullptr);
    tare_scaler_destroy(scaler);
    return status;
  });
  fail_everywhere("first write of grads", [&] {
    tare_scaler* scaler = nullptr;
    tare_grads* grads = nullptr;
    int32_t status = tare_scaler_create(&scaler, R"({"policy":"torch"})", nullptr);
    if (status == TARE_OK) status = tare_grads_create(&grads, scaler, &in, 1, nullptr);
    const char* options = R"({"clip_norm":1,"clip_value":2,"unscale":false})";
    if (status == TARE_OK) status = tare_grads_write(grads, &out, 1, options, nullptr, nullptr);
    if (status == TARE_OK) status = tare_grads_rebind(grads, &out, 1, nullptr, nullptr);
    tare_grads_destroy(grads);
    tare_scaler_destroy(scaler);
    return status;
  });
}

TEST_CASE("a failed allocation while a refusal is made is status 3 or the refusal") {
  tare_scaler* scaler = nullptr;
  tare_grads* grads = nullptr;
  tare_error error = TARE_ERROR_INIT;
  float values[4] = {};
  const tare_tensor tensor{values, 4, TARE_F32, 0};
  REQUIRE(tare_scaler_create(&scaler, R"({"policy":"deepspeed","init_scale":1,"delayed_shift":1})", nullptr) ==
          TARE_OK);
  REQUIRE(tare_grads_create(&grads, scaler, &tensor, 1, nullptr) == TARE_OK);
  for (const char* config : {R"({"policy":"torch","bogus":1})", R"({"policy":"torch","growth_factor":-1})", "{"}) {
    fail_everywhere_or_give(TARE_E_INVALID_ARGUMENT, std::string("refuse ") + config, [&] {
      tare_scaler* made = nullptr;
      return tare_scaler_create(&made, config, &error);
    });
  }
  fail_everywhere_or_give(TARE_E_INVALID_ARGUMENT, "refuse options",
                          [&] { return tare_grads_write(grads, &tensor, 1, R"({"clip":1})", nullptr, &error); });
  fail_everywhere_or_give(TARE_E_RULE, "raise", [&] {
    const int32_t status = tare_scaler_report_overflow(scaler, 1, nullptr, &error);
    return status == TARE_OK ? tare_scaler_update(scaler, nullptr, &error) : status;
  });
  tare_grads_destroy(grads);
  tare_scaler_destroy(scaler);
}

// [P8], by way of a first allocation that would fail.
TEST_CASE("steps allocate nothing once a first one was made") {
  const char* config = GENERATE(R"({"policy":"torch"})", R"({"policy":"deepspeed","threads":2})");
  INFO(config);
  tare_scaler* scaler = nullptr;
  tare_grads* grads = nullptr;
  float values[64] = {1, -2, 3};
  float moved[64] = {4, 5};
  unsigned short narrow[64] = {};
  const tare_tensor tensors[2] = {{values, 40, TARE_F32, 0}, {values + 40, 24, TARE_F32, 0}};
  const tare_tensor elsewhere[2] = {{moved, 40, TARE_F32, 0}, {moved + 40, 24, TARE_F32, 0}};
  const tare_tensor out[2] = {{narrow, 40, TARE_BF16, 0}, {narrow + 40, 24, TARE_BF16, 0}};
  REQUIRE(tare_scaler_create(&scaler, config, nullptr) == TARE_OK);
  REQUIRE(tare_grads_create(&grads, scaler, tensors, 2, nullptr) == TARE_OK);
  const auto steps = [&] {
    const int32_t statuses[] = {
        tare_scaler_unscale(scaler, tensors, 2, nullptr, nullptr),
        tare_scaler_observe(scaler, tensors, 2, nullptr, nullptr),
        tare_scaler_report_overflow(scaler, 1, nullptr, nullptr),
        tare_scaler_update(scaler, nullptr, nullptr),
        tare_grads_rebind(grads, elsewhere, 2, nullptr, nullptr),
        tare_grads_unscale(grads, nullptr, nullptr),
        tare_grads_observe(grads, nullptr, nullptr),
        tare_grads_write(grads, out, 2, R"({"clip_norm":1})", nullptr, nullptr),
        tare_grads_unscale_and_update(grads, nullptr, nullptr),
        tare_grads_observe_and_update(grads, nullptr, nullptr),
        tare_grads_rebind(grads, tensors, 2, nullptr, nullptr),
    };
    int32_t worst = TARE_OK;
    for (const int32_t status : statuses) worst = std::max(worst, status);
    return worst;
  };
  REQUIRE(steps() == TARE_OK);
  const Attempt again = attempt(0, steps);
  CHECK(again.status == TARE_OK);
  CHECK(!again.failed);
  tare_grads_destroy(grads);
  tare_scaler_destroy(scaler);
}

TEST_CASE("a failed allocation in FP8 slots is status 3 and loses nothing") {
  const char* config =
      R"({"policy":"transformer_engine","slots":["x","w"],"format":["e4m3","e5m2"],"amax_history_len":40})";
  tare_fp8* fp8 = nullptr;
  tare_state* state = nullptr;
  REQUIRE(tare_fp8_create(&fp8, config, nullptr) == TARE_OK);
  REQUIRE(tare_fp8_save(&state, fp8, nullptr, nullptr) == TARE_OK);
  fail_everywhere("fp8 create", [&] {
    tare_fp8* made = nullptr;
    const int32_t status = tare_fp8_create(&made, config, nullptr);
    tare_fp8_destroy(made);
    return status;
  });
  fail_everywhere("fp8 create from state", [&] {
    tare_fp8* made = nullptr;
    const int32_t status = tare_fp8_create_from_state(&made, state, nullptr, nullptr);
    tare_fp8_destroy(made);
    return status;
  });
  fail_everywhere("fp8 policies", [] {
    tare_text* text = nullptr;
    const int32_t status = tare_fp8_policies(&text, nullptr);
    tare_text_destroy(text);
    return status;
  });
  fail_everywhere("fp8 save", [&] {
    tare_state* saved = nullptr;
    const int32_t status = tare_fp8_save(&saved, fp8, nullptr, nullptr);
    tare_state_destroy(saved);
    return status;
  });
  fail_everywhere("fp8 freeze", [&] {
    tare_state* saved = nullptr;
    const int32_t status = tare_fp8_freeze(&saved, fp8, nullptr, nullptr);
    tare_state_destroy(saved);
    return status;
  });
  fail_everywhere("fp8 convert", [&] {
    tare_state* made = nullptr;
    tare_text* report = nullptr;
    const int32_t status = tare_state_convert(&made, state, "flax_fp8", &report, nullptr);
    tare_text_destroy(report);
    tare_state_destroy(made);
    return status;
  });
  fail_everywhere("fp8 statistics", [&] {
    tare_text* text = nullptr;
    const int32_t status = tare_fp8_statistics(&text, fp8, nullptr, nullptr);
    tare_text_destroy(text);
    return status;
  });
  fail_everywhere("fp8 load", [&] { return tare_fp8_load(fp8, state, nullptr, nullptr); });
  fail_everywhere("fp8 casts create", [&] {
    const tare_tensor none = {nullptr, 0, TARE_F32, 0};
    tare_fp8_casts* made = nullptr;
    const int32_t status = tare_fp8_casts_create(&made, fp8, &none, nullptr, 1, nullptr);
    tare_fp8_casts_destroy(made);
    return status;
  });
  float values[8] = {1, 2, 3};
  unsigned char bytes[8] = {};
  const tare_tensor wide = {values, 8, TARE_F32, 0};
  const tare_tensor narrow = {bytes, 8, TARE_F8E4M3FN, 0};
  tare_fp8_casts* casts = nullptr;
  REQUIRE(tare_fp8_casts_create(&casts, fp8, &wide, nullptr, 1, nullptr) == TARE_OK);
  // [P8]: a step allocates nothing, so that its first allocation can never fail.
  const Attempt step = attempt(0, [&] {
    int32_t status = tare_fp8_observe(fp8, &wide, nullptr, 1, nullptr, nullptr);
    if (status == TARE_OK) status = tare_fp8_quantize(fp8, &narrow, &wide, nullptr, 1, nullptr, nullptr);
    if (status == TARE_OK) status = tare_fp8_dequantize(fp8, &wide, &narrow, nullptr, 1, nullptr, nullptr);
    if (status == TARE_OK) status = tare_fp8_casts_rebind(casts, &wide, 1, nullptr, nullptr);
    if (status == TARE_OK) status = tare_fp8_casts_observe(casts, nullptr, nullptr);
    if (status == TARE_OK) status = tare_fp8_casts_quantize(casts, &narrow, 1, nullptr, nullptr);
    return status == TARE_OK ? tare_fp8_update(fp8, nullptr, nullptr) : status;
  });
  CHECK(step.status == TARE_OK);
  CHECK(!step.failed);
  tare_fp8_casts_destroy(casts);
  tare_state_destroy(state);
  tare_fp8_destroy(fp8);
}

TEST_CASE("every allocation of a quantizer may fail, and its calls make none") {
  const char* config = R"({"recipe":"mxfp8","threads":2})";
  fail_everywhere("quantizer create", [&] {
    tare_quantizer* made = nullptr;
    const int32_t status = tare_quantizer_create(&made, config, nullptr);
    tare_quantizer_destroy(made);
    return status;
  });
  tare_quantizer* quantizer = nullptr;
  REQUIRE(tare_quantizer_create(&quantizer, config, nullptr) == TARE_OK);
  float values[8] = {1, 2, 3};
  unsigned char bytes[8] = {};
  unsigned char scales[2] = {};
  const tare_matrix matrix = {sizeof(tare_matrix),   values, 2,       4,      TARE_F32, 0,
                              {bytes, scales, 0, 0}, {},     nullptr, nullptr};
  const Attempt step = attempt(0, [&] {
    const int32_t status = tare_quantizer_quantize(quantizer, &matrix, 1, nullptr, nullptr);
    return status == TARE_OK ? tare_quantizer_dequantize(quantizer, &matrix, 1, nullptr, nullptr) : status;
  });
  CHECK(step.status == TARE_OK);
  CHECK(!step.failed);
  tare_quantizer_destroy(quantizer);
}
