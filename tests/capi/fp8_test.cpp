// FP8 slots through the C ABI: [P5] misuse, stable pointers, saving and going on, [P8].
#include <tare/tare.h>

#include <cstring>
#include <limits>
#include <string>

#include "tests/capi/scratch.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

namespace {

struct Fixture {
  tare_fp8* fp8 = nullptr;
  tare_state* state = nullptr;
  tare_error error = TARE_ERROR_INIT;
  float values[4] = {1, -7, 0, 3};
  uint8_t bytes[4] = {};
  tare_tensor wide = {values, 4, TARE_F32, 0};
  tare_tensor narrow = {bytes, 4, TARE_F8E4M3FN, 0};
  Fixture() {
    REQUIRE(tare_fp8_create(&fp8, R"({"policy":"transformer_engine","slots":["x","w"],"amax_history_len":8})",
                            &error) == TARE_OK);
    REQUIRE(tare_fp8_save(&state, fp8, nullptr, &error) == TARE_OK);
  }
  ~Fixture() {
    tare_state_destroy(state);
    tare_fp8_destroy(fp8);
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "FP8: every pointer that must not be NULL is asked for by its name") {
  tare_text* text = nullptr;
  tare_state* made = nullptr;
  tare_fp8* other = nullptr;
  const float* pointer = nullptr;
  void* amaxes = nullptr;
  uint64_t number = 0;
  const auto is_told = [&](int32_t status, const char* name) {
    INFO(name << ": " << error.message);
    CHECK(status == TARE_E_INVALID_ARGUMENT);
    CHECK(std::string(error.message) == std::string(name) + " is NULL");
  };
  is_told(tare_fp8_create(nullptr, "{}", &error), "out");
  is_told(tare_fp8_create(&other, nullptr, &error), "config_json");
  is_told(tare_fp8_create_from_state(nullptr, state, nullptr, &error), "out");
  is_told(tare_fp8_create_from_state(&other, nullptr, nullptr, &error), "state");
  is_told(tare_fp8_policies(nullptr, &error), "out");
  is_told(tare_fp8_count(nullptr, fp8, &error), "out");
  is_told(tare_fp8_count(&number, nullptr, &error), "fp8");
  uint32_t slot = 0;
  is_told(tare_fp8_slot(nullptr, fp8, "x", &error), "out");
  is_told(tare_fp8_slot(&slot, nullptr, "x", &error), "fp8");
  is_told(tare_fp8_slot(&slot, fp8, nullptr, &error), "name");
  is_told(tare_fp8_observe(nullptr, &wide, nullptr, 1, nullptr, &error), "fp8");
  is_told(tare_fp8_observe(fp8, nullptr, nullptr, 1, nullptr, &error), "tensors");
  is_told(tare_fp8_update(nullptr, nullptr, &error), "fp8");
  is_told(tare_fp8_scale_pointer(nullptr, fp8, 1, &error), "out");
  is_told(tare_fp8_scale_pointer(&pointer, nullptr, 1, &error), "fp8");
  is_told(tare_fp8_accumulators(nullptr, &number, fp8, &error), "out");
  is_told(tare_fp8_accumulators(&amaxes, nullptr, fp8, &error), "bytes");
  is_told(tare_fp8_accumulators(&amaxes, &number, nullptr, &error), "fp8");
  is_told(tare_fp8_quantize(nullptr, &narrow, &wide, nullptr, 1, nullptr, &error), "fp8");
  is_told(tare_fp8_quantize(fp8, nullptr, &wide, nullptr, 1, nullptr, &error), "out");
  is_told(tare_fp8_quantize(fp8, &narrow, nullptr, nullptr, 1, nullptr, &error), "tensors");
  is_told(tare_fp8_dequantize(nullptr, &wide, &narrow, nullptr, 1, nullptr, &error), "fp8");
  is_told(tare_fp8_dequantize(fp8, nullptr, &narrow, nullptr, 1, nullptr, &error), "out");
  is_told(tare_fp8_statistics(nullptr, fp8, nullptr, &error), "out");
  is_told(tare_fp8_statistics(&text, nullptr, nullptr, &error), "fp8");
  is_told(tare_fp8_save(nullptr, fp8, nullptr, &error), "out");
  is_told(tare_fp8_save(&made, nullptr, nullptr, &error), "fp8");
  is_told(tare_fp8_freeze(nullptr, fp8, nullptr, &error), "out");
  is_told(tare_fp8_freeze(&made, nullptr, nullptr, &error), "fp8");
  is_told(tare_fp8_load(nullptr, state, nullptr, &error), "fp8");
  is_told(tare_fp8_load(fp8, nullptr, nullptr, &error), "state");
  tare_fp8_casts* list = nullptr;
  is_told(tare_fp8_casts_create(nullptr, fp8, &wide, nullptr, 1, &error), "out");
  is_told(tare_fp8_casts_create(&list, nullptr, &wide, nullptr, 1, &error), "fp8");
  is_told(tare_fp8_casts_create(&list, fp8, nullptr, nullptr, 1, &error), "tensors");
  is_told(tare_fp8_casts_rebind(nullptr, &wide, 1, nullptr, &error), "casts");
  is_told(tare_fp8_casts_observe(nullptr, nullptr, &error), "casts");
  is_told(tare_fp8_casts_quantize(nullptr, &narrow, 1, nullptr, &error), "casts");
  is_told(tare_fp8_casts_dequantize(nullptr, &wide, 1, nullptr, &error), "casts");
  tare_fp8_casts_destroy(nullptr);
  tare_fp8_destroy(nullptr);
}

TEST_CASE_METHOD(Fixture, "FP8: a failed making leaves NULL, and what is no list, pointer or slot is refused") {
  tare_fp8* other = fp8;
  CHECK(tare_fp8_create(&other, R"({"policy":"torch"})", &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(other == nullptr);
  const float* pointer = nullptr;
  for (const int32_t which : {0, 3, -1}) {
    CHECK(tare_fp8_scale_pointer(&pointer, fp8, which, &error) == TARE_E_INVALID_ARGUMENT);
    CHECK(pointer == nullptr);
  }
  const uint32_t beyond = 2;
  CHECK(tare_fp8_observe(fp8, &wide, &beyond, 1, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_fp8_observe(fp8, &wide, nullptr, std::numeric_limits<uint64_t>::max(), nullptr, &error) ==
        TARE_E_INVALID_ARGUMENT);
  tare_tensor reserved = wide;
  reserved.reserved = 1;
  CHECK(tare_fp8_observe(fp8, &reserved, nullptr, 1, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  tare_tensor crooked = {reinterpret_cast<char*>(values) + 1, 1, TARE_F32, 0};
  CHECK(tare_fp8_observe(fp8, &crooked, nullptr, 1, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  tare_tensor e5m2 = narrow;
  e5m2.dtype = TARE_F8E5M2;
  CHECK(tare_fp8_quantize(fp8, &e5m2, &wide, nullptr, 1, nullptr, &error) == TARE_E_MISMATCH);
  CHECK(tare_fp8_quantize(fp8, nullptr, nullptr, nullptr, 0, nullptr, &error) == TARE_OK);
  tare_text* before = nullptr;
  tare_text* after = nullptr;
  tare_state* now = nullptr;
  REQUIRE(tare_fp8_save(&now, fp8, nullptr, &error) == TARE_OK);
  REQUIRE(tare_state_to_json(&before, state, &error) == TARE_OK);
  REQUIRE(tare_state_to_json(&after, now, &error) == TARE_OK);
  CHECK(std::strcmp(tare_text_data(before), tare_text_data(after)) == 0);
  tare_text_destroy(before);
  tare_text_destroy(after);
  tare_state_destroy(now);
}

TEST_CASE_METHOD(Fixture, "FP8: pointers stay through steps and loads, and follow them") {
  const float* scale = nullptr;
  const float* scale_inv = nullptr;
  void* amaxes = nullptr;
  uint64_t size = 0;
  REQUIRE(tare_fp8_scale_pointer(&scale, fp8, TARE_FP8_SCALE, &error) == TARE_OK);
  REQUIRE(tare_fp8_scale_pointer(&scale_inv, fp8, TARE_FP8_SCALE_INV, &error) == TARE_OK);
  REQUIRE(tare_fp8_accumulators(&amaxes, &size, fp8, &error) == TARE_OK);
  CHECK(size == 8);
  const uint32_t second = 1;
  REQUIRE(tare_fp8_quantize(fp8, &narrow, &wide, &second, 1, nullptr, &error) == TARE_OK);
  CHECK((bytes[0] == 0x38 && bytes[1] == 0xce && bytes[2] == 0 && bytes[3] == 0x44));
  CHECK(static_cast<const float*>(amaxes)[1] == 7.0f);
  REQUIRE(tare_fp8_update(fp8, nullptr, &error) == TARE_OK);
  CHECK((scale[0] == 1.0f && scale[1] == 64.0f && scale_inv[1] == 1.0f / 64));
  REQUIRE(tare_fp8_quantize(fp8, &narrow, &wide, &second, 1, nullptr, &error) == TARE_OK);
  float back[4] = {};
  const tare_tensor out = {back, 4, TARE_F32, 0};
  REQUIRE(tare_fp8_dequantize(fp8, &out, &narrow, &second, 1, nullptr, &error) == TARE_OK);
  CHECK((back[0] == 1.0f && back[1] == -7.0f && back[2] == 0.0f && back[3] == 3.0f));
  REQUIRE(tare_fp8_load(fp8, state, nullptr, &error) == TARE_OK);
  CHECK(scale[1] == 1.0f);
  const float* again = nullptr;
  REQUIRE(tare_fp8_scale_pointer(&again, fp8, TARE_FP8_SCALE, &error) == TARE_OK);
  CHECK(again == scale);
}

TEST_CASE_METHOD(Fixture, "FP8: prepared lists cast as lists that are handed over, and take other addresses") {
  const uint32_t second = 1;
  tare_fp8_casts* there = nullptr;
  tare_fp8_casts* back = nullptr;
  REQUIRE(tare_fp8_casts_create(&there, fp8, &wide, &second, 1, &error) == TARE_OK);
  REQUIRE(tare_fp8_casts_create(&back, fp8, &narrow, &second, 1, &error) == TARE_OK);
  REQUIRE(tare_fp8_casts_quantize(there, &narrow, 1, nullptr, &error) == TARE_OK);
  CHECK((bytes[0] == 0x38 && bytes[1] == 0xce && bytes[2] == 0 && bytes[3] == 0x44));
  void* amaxes = nullptr;
  uint64_t size = 0;
  REQUIRE(tare_fp8_accumulators(&amaxes, &size, fp8, &error) == TARE_OK);
  CHECK(static_cast<const float*>(amaxes)[1] == 7.0f);
  float values_back[4] = {};
  const tare_tensor out = {values_back, 4, TARE_F32, 0};
  REQUIRE(tare_fp8_casts_dequantize(back, &out, 1, nullptr, &error) == TARE_OK);
  CHECK((values_back[0] == 1.0f && values_back[1] == -7.0f && values_back[3] == 3.0f));
  float others[4] = {9, 0, 0, 0};
  tare_tensor other = {others, 4, TARE_F32, 0};
  REQUIRE(tare_fp8_casts_rebind(there, &other, 1, nullptr, &error) == TARE_OK);
  REQUIRE(tare_fp8_casts_observe(there, nullptr, &error) == TARE_OK);
  CHECK(static_cast<const float*>(amaxes)[1] == 9.0f);
  other.count = 3;
  CHECK(tare_fp8_casts_rebind(there, &other, 1, nullptr, &error) == TARE_E_MISMATCH);
  CHECK(tare_fp8_casts_rebind(there, nullptr, 0, nullptr, &error) == TARE_E_MISMATCH);
  CHECK(tare_fp8_casts_quantize(back, &narrow, 1, nullptr, &error) == TARE_E_UNSUPPORTED);
  CHECK(tare_fp8_casts_dequantize(there, &out, 1, nullptr, &error) == TARE_E_UNSUPPORTED);
  const uint32_t beyond = 2;
  tare_fp8_casts* none = there;
  CHECK(tare_fp8_casts_create(&none, fp8, &wide, &beyond, 1, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(none == nullptr);
  CHECK(tare_fp8_casts_observe(reinterpret_cast<tare_fp8_casts*>(fp8), nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  tare_fp8_casts_destroy(there);
  tare_fp8_casts_destroy(back);
}

TEST_CASE_METHOD(Fixture, "FP8: a file of either kind goes on where it was written") {
  const tare::test::Scratch folder;
  REQUIRE(tare_fp8_observe(fp8, &wide, nullptr, 1, nullptr, &error) == TARE_OK);
  REQUIRE(tare_fp8_update(fp8, nullptr, &error) == TARE_OK);
  tare_state* saved = nullptr;
  REQUIRE(tare_fp8_save(&saved, fp8, nullptr, &error) == TARE_OK);
  for (const char* name : {"state.json", "state.h5"}) {
    tare_state* read = nullptr;
    tare_fp8* other = nullptr;
    const float* scale = nullptr;
    uint64_t count = 0;
    REQUIRE(tare_state_write(saved, folder.path(name).c_str(), nullptr, &error) == TARE_OK);
    REQUIRE(tare_state_read(&read, folder.path(name).c_str(), &error) == TARE_OK);
    REQUIRE(tare_fp8_create_from_state(&other, read, R"({"device":"cpu"})", &error) == TARE_OK);
    REQUIRE(tare_fp8_count(&count, other, &error) == TARE_OK);
    CHECK(count == 2);
    REQUIRE(tare_fp8_scale_pointer(&scale, other, TARE_FP8_SCALE, &error) == TARE_OK);
    CHECK((scale[0] == 64.0f && scale[1] == 1.0f));
    CHECK(tare_fp8_load(fp8, read, nullptr, &error) == TARE_OK);
    tare_fp8* refused = nullptr;
    CHECK(tare_fp8_create_from_state(&refused, read, R"({"margin":1})", &error) == TARE_E_INVALID_ARGUMENT);
    tare_fp8_destroy(other);
    tare_state_destroy(read);
  }
  uint64_t count = 0;
  double history[16] = {};
  REQUIRE(tare_state_array(nullptr, &count, saved, "amax_history", &error) == TARE_OK);
  REQUIRE(count == 16);
  REQUIRE(tare_state_array(history, &count, saved, "amax_history", &error) == TARE_OK);
  CHECK(history[7] == 7.0);
  tare_state_destroy(saved);
}

TEST_CASE("FP8: the policies are listed with all that makes one, and each can be made") {
  tare_error error = TARE_ERROR_INIT;
  tare_text* text = nullptr;
  REQUIRE(tare_fp8_policies(&text, &error) == TARE_OK);
  const std::string all = tare_text_data(text);
  tare_text_destroy(text);
  for (const char* policy : {"transformer_engine", "te_current", "fp8_static", "msamp", "flax_fp8", "keras_fp8",
                             "torchao_delayed", "torchao_dynamic", "fp8_lm"}) {
    INFO(policy);
    CHECK(all.find(std::string("\"policy\": \"") + policy + "\"") != std::string::npos);
    tare_fp8* fp8 = nullptr;
    CHECK(tare_fp8_create(&fp8, (std::string(R"({"policy":")") + policy + "\"}").c_str(), &error) == TARE_OK);
    tare_fp8_destroy(fp8);
  }
}

TEST_CASE("slots that are frozen keep the scales that they had, converted ones what they multiply by") {
  tare_error error = TARE_ERROR_INIT;
  tare_fp8* fp8 = nullptr;
  REQUIRE(tare_fp8_create(&fp8, R"({"policy":"transformer_engine","amax_history_len":4})", &error) == TARE_OK);
  float amax = 7;
  const tare_tensor tensor = {&amax, 1, TARE_F32, 0};
  const auto scale_after_step = [&](tare_fp8* slots) {
    REQUIRE(tare_fp8_observe(slots, &tensor, nullptr, 1, nullptr, &error) == TARE_OK);
    REQUIRE(tare_fp8_update(slots, nullptr, &error) == TARE_OK);
    const float* scale = nullptr;
    REQUIRE(tare_fp8_scale_pointer(&scale, slots, TARE_FP8_SCALE, &error) == TARE_OK);
    return *scale;
  };
  const auto after_step_of = [&](tare_state* state) {
    tare_fp8* slots = nullptr;
    REQUIRE(tare_fp8_create_from_state(&slots, state, nullptr, &error) == TARE_OK);
    const float scale = scale_after_step(slots);
    tare_fp8_destroy(slots);
    tare_state_destroy(state);
    return scale;
  };
  CHECK(scale_after_step(fp8) == 64);
  amax = 448;
  tare_state* frozen = nullptr;
  REQUIRE(tare_fp8_freeze(&frozen, fp8, nullptr, &error) == TARE_OK);
  CHECK(after_step_of(frozen) == 64);
  tare_state* saved = nullptr;
  tare_state* flax = nullptr;
  tare_text* report = nullptr;
  REQUIRE(tare_fp8_save(&saved, fp8, nullptr, &error) == TARE_OK);
  REQUIRE(tare_state_convert(&flax, saved, "flax_fp8", &report, &error) == TARE_OK);
  CHECK(std::string(tare_text_data(report)).find("fields.amax_history") != std::string::npos);
  tare_text_destroy(report);
  CHECK(after_step_of(flax) == 64);
  CHECK(tare_state_convert(&flax, saved, "torch", nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(flax == nullptr);
  tare_state_destroy(saved);
  CHECK(scale_after_step(fp8) == 1);
  tare_fp8_destroy(fp8);
}

TEST_CASE("FP8 state of a checkpoint's layers migrates into a state of tare's own, by another rule") {
  const tare::test::Scratch scratch;
  const std::string file = scratch.path("msamp.json");
  tare_error error = TARE_ERROR_INIT;
  tare_text* told = nullptr;
  const std::string options = R"({"to":"msamp","at":"model.2","set":{"window_size":4},"output":")" + file + "\"}";
  REQUIRE(tare_checkpoint_migrate(&told, TARE_TEST_DATA "/corpus/torchao/delayed_0_9/checkpoint.pt", options.c_str(),
                                  &error) == TARE_OK);
  CHECK(std::string(tare_text_data(told)).find("\"lost\"") != std::string::npos);
  tare_text_destroy(told);
  tare_state* state = nullptr;
  REQUIRE(tare_state_read(&state, file.c_str(), &error) == TARE_OK);
  double scales[3] = {};
  double amaxes[12] = {};
  uint64_t count = 3;
  CHECK(tare_state_array(scales, &count, state, "scale", &error) == TARE_OK);
  CHECK(scales[0] == 32);  // the power of two below 55.65
  count = 12;
  CHECK(tare_state_array(amaxes, &count, state, "fields.amax", &error) == TARE_OK);
  CHECK(amaxes[0] == 8.049957275390625);  // the newest, which torchao keeps beside its history
  CHECK(amaxes[1] == static_cast<double>(1.499495029449463F));
  CHECK(amaxes[2] == 0);
  tare_state_destroy(state);
}
