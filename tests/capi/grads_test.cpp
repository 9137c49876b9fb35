// Prepared lists: unscale, clip, cast, each with a found-inf of its own.
#include <tare/tare.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/catch.hpp"

namespace {

struct Fixture {
  tare_scaler* scaler = nullptr;
  tare_grads* grads = nullptr;
  tare_error error = TARE_ERROR_INIT;
  float values[4] = {3, 0, 4, 0};
  float more[1] = {1};
  tare_tensor list[2] = {{values, 4, TARE_F32, 0}, {more, 1, TARE_F32, 0}};
  Fixture() {
    REQUIRE(tare_scaler_create(&scaler, R"({"policy":"torch","initial_scale":4})", &error) == TARE_OK);
    REQUIRE(tare_grads_create(&grads, scaler, list, 2, &error) == TARE_OK);
  }
  ~Fixture() {
    tare_grads_destroy(grads);
    tare_scaler_destroy(scaler);
  }
  float shown(int32_t which) {
    const void* pointer = nullptr;
    CHECK(tare_grads_pointer(&pointer, grads, which, &error) == TARE_OK);
    return *static_cast<const float*>(pointer);
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a list's infinities are its own, and its scaler's") {
  tare_grads* other = nullptr;
  float infinite[1] = {std::numeric_limits<float>::infinity()};
  const tare_tensor tensor{infinite, 1, TARE_F32, 0};
  REQUIRE(tare_grads_create(&other, scaler, &tensor, 1, &error) == TARE_OK);
  REQUIRE(tare_grads_unscale(grads, nullptr, &error) == TARE_OK);
  REQUIRE(tare_grads_unscale(other, nullptr, &error) == TARE_OK);
  CHECK(shown(TARE_POINTER_FOUND_INF) == 0);
  const void* found = nullptr;
  REQUIRE(tare_grads_pointer(&found, other, TARE_POINTER_FOUND_INF, &error) == TARE_OK);
  CHECK(*static_cast<const float*>(found) == 1);
  CHECK(values[0] == 0.75f);
  REQUIRE(tare_scaler_update(scaler, nullptr, &error) == TARE_OK);
  double scale = 0;
  REQUIRE(tare_scaler_scale(&scale, scaler, nullptr, &error) == TARE_OK);
  CHECK(scale == 2);
  tare_grads_destroy(other);
}

TEST_CASE_METHOD(Fixture, "an overflow that an all-reduce brought into one list is its own, and its scaler's") {
  tare_grads* other = nullptr;
  REQUIRE(tare_grads_create(&other, scaler, list, 1, &error) == TARE_OK);
  REQUIRE(tare_grads_unscale(grads, nullptr, &error) == TARE_OK);
  REQUIRE(tare_grads_observe(other, nullptr, &error) == TARE_OK);
  void* found = nullptr;
  uint64_t bytes = 0;
  REQUIRE(tare_grads_accumulators(&found, &bytes, grads, &error) == TARE_OK);
  REQUIRE(bytes == sizeof(float));
  *static_cast<float*>(found) = 1;  // another rank's
  REQUIRE(tare_grads_report_reduced(grads, nullptr, &error) == TARE_OK);
  const auto noop_of = [&](const tare_grads* which) {
    const void* noop = nullptr;
    REQUIRE(tare_grads_pointer(&noop, which, TARE_POINTER_NOOP, &error) == TARE_OK);
    return *static_cast<const int32_t*>(noop);
  };
  CHECK(noop_of(grads) == 1);
  CHECK(noop_of(other) == 0);
  const void* all = nullptr;
  REQUIRE(tare_scaler_pointer(&all, scaler, TARE_POINTER_FOUND_INF, &error) == TARE_OK);
  CHECK(*static_cast<const float*>(all) == 1);
  REQUIRE(tare_scaler_update(scaler, nullptr, &error) == TARE_OK);
  double scale = 0;
  REQUIRE(tare_scaler_scale(&scale, scaler, nullptr, &error) == TARE_OK);
  CHECK(scale == 2);
  tare_grads_destroy(other);
}

TEST_CASE_METHOD(Fixture, "write unscales, clips by norm and casts, and leaves its input") {
  more[0] = 0;
  uint16_t half[4] = {};
  double wide[1] = {};
  const tare_tensor out[2] = {{half, 4, TARE_F16, 0}, {wide, 1, TARE_F64, 0}};
  REQUIRE(tare_grads_write(grads, out, 2, nullptr, nullptr, &error) == TARE_OK);
  CHECK(half[0] == 0x3a00);  // 0.75
  CHECK(values[0] == 3);
  float clipped[4] = {};
  const tare_tensor same[2] = {{clipped, 4, TARE_F32, 0}, {wide, 1, TARE_F64, 0}};
  REQUIRE(tare_grads_write(grads, same, 2, R"({"clip_norm":0.625})", nullptr, &error) == TARE_OK);
  const auto coefficient = static_cast<float>(0.625 / (1.25 + 1e-6));
  CHECK(clipped[0] == 0.75f * coefficient);
  CHECK(shown(TARE_POINTER_MULTIPLIER) == 0.25f * coefficient);
  REQUIRE(tare_grads_write(grads, same, 2, R"({"clip_value":0.875})", nullptr, &error) == TARE_OK);
  CHECK(clipped[0] == 0.75f);
  CHECK(clipped[2] == 0.875f);
}

TEST_CASE_METHOD(Fixture, "outputs and options that do not fit are refused") {
  float out[4] = {};
  const tare_tensor few[1] = {{out, 4, TARE_F32, 0}};
  CHECK(tare_grads_write(grads, few, 1, nullptr, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  const tare_tensor narrow[2] = {{out, 4, TARE_F8E5M2, 0}, {more, 1, TARE_F32, 0}};
  CHECK(tare_grads_write(grads, narrow, 2, nullptr, nullptr, &error) == TARE_E_UNSUPPORTED);
  CHECK(tare_grads_write(grads, list, 2, R"({"clip":1})", nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_grads_write(grads, list, 2, R"({"clip_norm":-1})", nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_grads_rebind(grads, list, 1, nullptr, &error) == TARE_E_MISMATCH);
  CHECK(tare_grads_rebind(grads, list, 2, nullptr, &error) == TARE_OK);
}

TEST_CASE_METHOD(Fixture, "a list of fp8 is observed and refused to be written, also after other addresses came") {
  uint8_t codes[2][4] = {{0x38, 0, 0, 0}, {0x40, 0, 0, 0}};
  tare_tensor tensor{codes[0], 4, TARE_F8E4M3FN, 0};
  tare_grads* narrow = nullptr;
  REQUIRE(tare_grads_create(&narrow, scaler, &tensor, 1, &error) == TARE_OK);
  CHECK(tare_grads_unscale(narrow, nullptr, &error) == TARE_E_UNSUPPORTED);
  CHECK(tare_grads_observe(narrow, nullptr, &error) == TARE_OK);
  tensor.data = codes[1];
  CHECK(tare_grads_rebind(narrow, &tensor, 1, nullptr, &error) == TARE_OK);
  CHECK(tare_grads_unscale(narrow, nullptr, &error) == TARE_E_UNSUPPORTED);
  CHECK(codes[1][0] == 0x40);
  tare_grads_destroy(narrow);
}

TEST_CASE_METHOD(Fixture, "a list tells what its last pass found, in total and by tensor") {
  values[1] = 1e-9f;
  tare_scaler* with_threshold = nullptr;
  REQUIRE(tare_scaler_create(&with_threshold, R"({"policy":"torch","underflow_threshold":1e-6})", &error) == TARE_OK);
  tare_grads* watched = nullptr;
  REQUIRE(tare_grads_create(&watched, with_threshold, list, 2, &error) == TARE_OK);
  const auto statistics = [&] {
    tare_text* text = nullptr;
    REQUIRE(tare_grads_statistics(&text, watched, nullptr, &error) == TARE_OK);
    const auto json = nlohmann::json::parse(tare_text_data(text));
    tare_text_destroy(text);
    return json;
  };
  CHECK(statistics().at("total").at("count") == 0);
  REQUIRE(tare_grads_observe(watched, nullptr, &error) == TARE_OK);
  const auto clean = statistics();
  CHECK(clean.at("schema") == "tare.grads/1");
  CHECK(clean.at("found_inf") == false);
  CHECK(clean.at("underflow_threshold") == 1e-6);
  REQUIRE(clean.at("tensors").size() == 2);
  const auto& first = clean.at("tensors")[0];
  CHECK(first.at("count") == 4);
  CHECK(first.at("zeros") == 1);
  CHECK(first.at("below") == 1);
  CHECK(first.at("max_abs") == 4);
  CHECK(first.at("norm") == 5);
  CHECK(clean.at("tensors")[1].at("sum_of_squares") == 1);
  CHECK(clean.at("total").at("count") == 5);
  CHECK(clean.at("total").at("sum_of_squares") == 26);
  more[0] = std::numeric_limits<float>::infinity();
  REQUIRE(tare_grads_unscale(watched, nullptr, &error) == TARE_OK);
  const auto infinite = statistics();
  CHECK(infinite.at("found_inf") == true);
  CHECK(infinite.at("tensors")[0].at("max_abs") == 4);
  CHECK(infinite.at("tensors")[1].at("max_abs") == "inf");
  CHECK(infinite.at("total").at("max_abs") == "inf");
  tare_grads_destroy(watched);
  tare_scaler_destroy(with_threshold);
}

TEST_CASE("what is finite in a tensor is told beside its infinities and nan, which are counted") {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  tare_error error = TARE_ERROR_INIT;
  tare_scaler* scaler = nullptr;
  const char* config = R"({"policy":"torch","initial_scale":4,"finite_statistics":true})";
  REQUIRE(tare_scaler_create(&scaler, config, &error) == TARE_OK);
  const std::vector<float> torn = {3, nan, -4, inf, -inf, 0};
  float first[6];
  float second[2] = {1, 2};
  std::uint16_t third[3] = {0x7c00, 0x4000, 0xfe00};  // inf, 2, nan
  const tare_tensor list[] = {{first, 6, TARE_F32, 0}, {second, 2, TARE_F32, 0}, {third, 3, TARE_F16, 0}};
  tare_grads* grads = nullptr;
  REQUIRE(tare_grads_create(&grads, scaler, list, 3, &error) == TARE_OK);
  const auto check = [&] {
    tare_text* text = nullptr;
    REQUIRE(tare_grads_statistics(&text, grads, nullptr, &error) == TARE_OK);
    const auto told = nlohmann::json::parse(tare_text_data(text));
    tare_text_destroy(text);
    const auto is = [](const nlohmann::json& one, int nans, int infinities, double max_abs, double norm) {
      CHECK(one.at("nans") == nans);
      CHECK(one.at("infinities") == infinities);
      CHECK(one.at("finite_max_abs") == max_abs);
      CHECK(one.at("finite_norm") == norm);
    };
    is(told.at("tensors")[0], 1, 2, 4, 5);
    is(told.at("tensors")[1], 0, 0, 2, std::sqrt(5.0));
    is(told.at("tensors")[2], 1, 1, 2, 2);
    is(told.at("total"), 2, 3, 4, std::sqrt(34.0));
    CHECK(told.at("tensors")[0].at("max_abs") == "nan");  // as ever
  };
  const auto refill = [&] {
    std::copy(torn.begin(), torn.end(), first);
    second[0] = 1;
    second[1] = 2;
    third[0] = 0x7c00;
    third[1] = 0x4000;
  };
  refill();
  REQUIRE(tare_grads_observe(grads, nullptr, &error) == TARE_OK);
  first[0] = nan;  // what the pass did not see
  check();
  refill();
  REQUIRE(tare_grads_unscale_and_update(grads, nullptr, &error) == TARE_OK);
  CHECK(first[0] == 0.75F);
  check();
  refill();
  REQUIRE(tare_grads_write(grads, list, 3, R"({"clip_value":0.5})", nullptr, &error) == TARE_OK);
  CHECK(first[3] == 0.5F);
  check();
  refill();
  float elsewhere[6];
  const tare_tensor out[] = {{elsewhere, 6, TARE_F32, 0}, list[1], list[2]};
  REQUIRE(tare_grads_write(grads, out, 3, nullptr, nullptr, &error) == TARE_OK);
  check();
  tare_grads_destroy(grads);
  std::uint16_t faint[2] = {0x7c00, 0x0001};  // inf, and 2^-24, of which unscaling leaves nothing
  const tare_tensor faint_list[] = {{faint, 2, TARE_F16, 0}};
  REQUIRE(tare_grads_create(&grads, scaler, faint_list, 1, &error) == TARE_OK);
  REQUIRE(tare_grads_unscale(grads, nullptr, &error) == TARE_OK);
  CHECK(faint[1] == 0);
  tare_text* text = nullptr;
  REQUIRE(tare_grads_statistics(&text, grads, nullptr, &error) == TARE_OK);
  CHECK(nlohmann::json::parse(tare_text_data(text)).at("total").at("finite_max_abs") == 0x1p-24);
  tare_text_destroy(text);
  tare_grads_destroy(grads);
  tare_scaler_destroy(scaler);
  tare_scaler* refused = nullptr;
  const char* bad = R"({"policy":"torch","finite_statistics":1})";
  CHECK(tare_scaler_create(&refused, bad, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK_THAT(error.message, Catch::Contains("finite_statistics"));
}

TEST_CASE_METHOD(Fixture, "a list's pass and the update in one call are the two calls") {
  double scale = 0;
  REQUIRE(tare_grads_unscale_and_update(grads, nullptr, &error) == TARE_OK);
  CHECK(values[0] == 0.75f);
  CHECK(shown(TARE_POINTER_MULTIPLIER) == 0.25f);  // of the scale that these values had
  more[0] = std::numeric_limits<float>::quiet_NaN();
  REQUIRE(tare_grads_observe_and_update(grads, nullptr, &error) == TARE_OK);
  CHECK(shown(TARE_POINTER_FOUND_INF) == 1);
  REQUIRE(tare_scaler_scale(&scale, scaler, nullptr, &error) == TARE_OK);
  CHECK(scale == 2);
  tare_text* text = nullptr;
  REQUIRE(tare_scaler_statistics(&text, scaler, nullptr, &error) == TARE_OK);
  const auto statistics = nlohmann::json::parse(tare_text_data(text));
  tare_text_destroy(text);
  CHECK(statistics.at("steps") == 2);
  CHECK(statistics.at("skipped") == 1);
}
