// What a scaler that runs is asked and told between its steps: what an update did, values, and memory of fields.
#include <tare/tare.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace {

class Scaler {
 public:
  explicit Scaler(const char* config) { REQUIRE(tare_scaler_create(&handle_, config, &error) == TARE_OK); }
  ~Scaler() { tare_scaler_destroy(handle_); }
  Scaler(const Scaler&) = delete;
  Scaler& operator=(const Scaler&) = delete;

  [[nodiscard]] double scale() {
    double scale = 0;
    REQUIRE(tare_scaler_scale(&scale, handle_, nullptr, &error) == TARE_OK);
    return scale;
  }
  tare_outcome update(bool overflow) {
    tare_outcome outcome{sizeof(tare_outcome), 0, 0, 9, 9, 9, 9};
    REQUIRE(tare_scaler_report_overflow(handle_, overflow, nullptr, &error) == TARE_OK);
    status = tare_scaler_update_outcome(&outcome, handle_, nullptr, &error);
    return outcome;
  }
  template <class Value>
  Value& field(const char* key, int32_t wanted) {
    void* data = nullptr;
    int32_t dtype = 0;
    REQUIRE(tare_scaler_field(&data, &dtype, handle_, key, &error) == TARE_OK);
    REQUIRE(dtype == wanted);
    return *static_cast<Value*>(data);
  }
  [[nodiscard]] tare_scaler* get() const { return handle_; }

  tare_error error = TARE_ERROR_INIT;
  int32_t status = TARE_OK;

 private:
  tare_scaler* handle_ = nullptr;
};

}  // namespace

TEST_CASE("an update tells what it did") {
  Scaler scaler(R"({"policy":"torch","initial_scale":1024,"growth_interval":2})");
  tare_outcome did = scaler.update(true);
  CHECK(did.old_scale == 1024);
  CHECK(did.new_scale == 512);
  CHECK((did.found_inf == 1 && did.skipped == 1 && did.grew == 0 && did.backed_off == 1));
  did = scaler.update(false);
  CHECK((did.found_inf == 0 && did.skipped == 0 && did.grew == 0 && did.backed_off == 0));
  did = scaler.update(false);
  CHECK(did.new_scale == 1024);
  CHECK((did.grew == 1 && did.backed_off == 0));
  tare_outcome small{sizeof(tare_outcome) - 1, 0, 0, 0, 0, 0, 0};
  CHECK(tare_scaler_update_outcome(&small, scaler.get(), nullptr, nullptr) == TARE_E_INVALID_ARGUMENT);
}

TEST_CASE("an update that raises tells what it did, too") {
  Scaler scaler(R"({"policy":"deepspeed","initial_scale":1,"min_scale":1,"hysteresis":1})");
  const tare_outcome did = scaler.update(true);
  CHECK(scaler.status == TARE_E_RULE);
  CHECK(did.found_inf == 1);
  CHECK(did.old_scale == 1);
}

TEST_CASE("values of a running scaler are read and set by the keys of a state") {
  Scaler scaler(R"({"policy":"torch","initial_scale":1024})");
  double number = 0;
  int64_t integer = 0;
  REQUIRE(tare_scaler_set_integer(scaler.get(), "growth_interval", 7, nullptr, nullptr) == TARE_OK);
  REQUIRE(tare_scaler_integer(&integer, scaler.get(), "window", nullptr, nullptr) == TARE_OK);
  CHECK(integer == 7);
  REQUIRE(tare_scaler_set_number(scaler.get(), "backoff_factor", 0.25, nullptr, nullptr) == TARE_OK);
  REQUIRE(tare_scaler_number(&number, scaler.get(), "params.backoff_factor", nullptr, nullptr) == TARE_OK);
  CHECK(number == 0.25);
  REQUIRE(tare_scaler_integer(&integer, scaler.get(), "statistics.skipped", nullptr, nullptr) == TARE_OK);
  CHECK(integer == 0);
  CHECK(tare_scaler_number(&number, scaler.get(), "hysteresis", nullptr, nullptr) == TARE_E_NOT_FOUND);
  CHECK(tare_scaler_set_number(scaler.get(), "growth_interval", 0.5, nullptr, nullptr) == TARE_E_MISMATCH);
}

TEST_CASE("a value that is set amid a step does not lose the step's overflow") {
  Scaler scaler(R"({"policy":"torch","initial_scale":1024})");
  const float value = std::numeric_limits<float>::infinity();
  const tare_tensor tensor{const_cast<float*>(&value), 1, TARE_F32, 0};
  REQUIRE(tare_scaler_observe(scaler.get(), &tensor, 1, nullptr, nullptr) == TARE_OK);
  REQUIRE(tare_scaler_set_number(scaler.get(), "backoff_factor", 0.25, nullptr, nullptr) == TARE_OK);
  REQUIRE(tare_scaler_update(scaler.get(), nullptr, nullptr) == TARE_OK);
  CHECK(scaler.scale() == 256);
}

TEST_CASE("what is written into a field's memory the next update goes by") {
  Scaler scaler(R"({"policy":"torch","initial_scale":1024,"growth_interval":5})");
  scaler.field<float>("scale", TARE_F32) = 96.0f;
  scaler.field<int32_t>("_growth_tracker", TARE_I32) = 4;
  CHECK(&scaler.field<int32_t>("growth_tracker", TARE_I32) == &scaler.field<int32_t>("_growth_tracker", TARE_I32));
  CHECK(scaler.scale() == 96);
  CHECK(scaler.update(false).new_scale == 192);
  CHECK(scaler.field<float>("scale", TARE_F32) == 192.0f);
  CHECK(scaler.field<float>("inverse_scale", TARE_F32) == 1.0f / 192);
  void* data = nullptr;
  int32_t dtype = 0;
  CHECK(tare_scaler_field(&data, &dtype, scaler.get(), "hysteresis", &scaler.error) == TARE_E_NOT_FOUND);
  CHECK(std::string(scaler.error.message).find("_growth_tracker") != std::string::npos);
  CHECK(data == nullptr);
}

TEST_CASE("every field of every policy reads as what stands in its memory") {
  for (const char* policy : {"torch", "apex", "megatron", "nemo", "deepspeed", "fairseq", "colossalai", "mindspore",
                             "mindformers_adaptive", "paddle", "keras", "flax", "jmp", "layerwise"}) {
    Scaler scaler((R"({"policy":")" + std::string(policy) + "\"}").c_str());
    tare_state* state = nullptr;
    uint64_t count = 0;
    REQUIRE(tare_scaler_save(&state, scaler.get(), nullptr, nullptr) == TARE_OK);
    REQUIRE(tare_state_count(&count, state, nullptr) == TARE_OK);
    for (uint64_t i = 0; i < count; ++i) {
      tare_text* name = nullptr;
      REQUIRE(tare_state_key(&name, state, i, nullptr) == TARE_OK);
      const std::string full = tare_text_data(name);
      tare_text_destroy(name);
      if (full.rfind("fields.", 0) != 0) continue;
      void* data = nullptr;
      int32_t dtype = 0;
      double wanted = 0;
      const int32_t status = tare_scaler_field(&data, &dtype, scaler.get(), full.substr(7).c_str(), nullptr);
      if (status == TARE_E_UNSUPPORTED) continue;  // a number of Python's
      INFO(policy << ' ' << full);
      REQUIRE(status == TARE_OK);
      REQUIRE(tare_state_number(&wanted, state, full.c_str(), nullptr) == TARE_OK);
      const double have = dtype == TARE_F32   ? static_cast<double>(*static_cast<float*>(data))
                          : dtype == TARE_F64 ? *static_cast<double*>(data)
                          : dtype == TARE_I32 ? *static_cast<int32_t*>(data)
                          : dtype == TARE_I64 ? static_cast<double>(*static_cast<int64_t*>(data))
                                              : *static_cast<bool*>(data);
      CHECK(have == wanted);
    }
    tare_state_destroy(state);
  }
}

TEST_CASE("scales that no gradient survives are refused, also after rounding") {
  Scaler scaler(R"({"policy":"torch","initial_scale":1024})");
  for (const double scale : {std::nan(""), 0.0, -0.0, -2.0, 1e-50}) {
    CHECK(tare_scaler_set_scale(scaler.get(), scale, nullptr, nullptr) == TARE_E_INVALID_ARGUMENT);
  }
  CHECK(tare_scaler_set_scale(scaler.get(), 1e300, nullptr, nullptr) == TARE_E_RULE);
  CHECK(scaler.scale() == 1024);
  CHECK(tare_scaler_set_scale(scaler.get(), 1e-44, nullptr, nullptr) == TARE_OK);
  tare_scaler* other = nullptr;
  CHECK(tare_scaler_create(&other, R"({"policy":"torch","initial_scale":1e-50})", nullptr) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_scaler_create(&other, R"({"policy":"deepspeed","init_scale":1e-50})", nullptr) == TARE_OK);  // a double
  tare_scaler_destroy(other);
}

TEST_CASE("a state with names that its policy does not know makes no scaler, and they are listed") {
  tare_error error = TARE_ERROR_INIT;
  const auto create = [&](const std::string& json) {
    tare_state* state = nullptr;
    tare_scaler* scaler = nullptr;
    REQUIRE(tare_state_from_json(&state, json.data(), json.size(), &error) == TARE_OK);
    const int32_t status = tare_scaler_create_from_state(&scaler, state, nullptr, &error);
    tare_state_destroy(state);
    tare_scaler_destroy(scaler);
    return status;
  };
  CHECK(create(R"({"policy":"torch","fields":{"scale":8,"growth_trackr":3}})") == TARE_E_MISMATCH);
  CHECK(std::string(error.message).find("fields.growth_trackr") != std::string::npos);
  CHECK(std::string(error.message).find("_growth_tracker") != std::string::npos);
  CHECK(create(R"({"policy":"mindspore","params":{"variant":"fixed"},"fields":{}})") == TARE_E_MISMATCH);
  CHECK(std::string(error.message).find("params.variant") != std::string::npos);
  CHECK(create(R"({"policy":"torch","fields":{"scale":8}})") == TARE_OK);
}

TEST_CASE("a state is cloned, goes through memory in both formats, and loses values by key") {
  const std::string json =
      R"({"policy":"torch","fields":{"scale":8,"_growth_tracker":3},"params":{"growth_interval":9}})";
  tare_state* state = nullptr;
  tare_state* clone = nullptr;
  double scale = 0;
  int64_t integer = 0;
  REQUIRE(tare_state_from_json(&state, json.data(), json.size(), nullptr) == TARE_OK);
  REQUIRE(tare_state_clone(&clone, state, nullptr) == TARE_OK);
  REQUIRE(tare_state_set_number(state, "scale", 16, nullptr) == TARE_OK);
  REQUIRE(tare_state_remove(state, "growth_interval", nullptr) == TARE_OK);
  CHECK(tare_state_integer(&integer, state, "growth_interval", nullptr) == TARE_E_NOT_FOUND);
  CHECK(tare_state_remove(state, "growth_interval", nullptr) == TARE_E_NOT_FOUND);
  for (const char* format : {".json", ".h5"}) {
    tare_text* bytes = nullptr;
    tare_state* again = nullptr;
    REQUIRE(tare_state_to_bytes(&bytes, clone, format, nullptr, nullptr) == TARE_OK);
    REQUIRE(tare_state_from_bytes(&again, tare_text_data(bytes), tare_text_size(bytes), nullptr) == TARE_OK);
    CHECK(tare_state_number(&scale, again, "scale", nullptr) == TARE_OK);
    CHECK(scale == 8);
    CHECK(tare_state_integer(&integer, again, "window", nullptr) == TARE_OK);
    CHECK(integer == 9);
    tare_text_destroy(bytes);
    tare_state_destroy(again);
  }
  tare_text* bytes = nullptr;
  CHECK(tare_state_to_bytes(&bytes, clone, ".pt", nullptr, nullptr) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_state_to_bytes(&bytes, clone, ".json", R"({"compression":"gzip"})", nullptr) == TARE_E_INVALID_ARGUMENT);
  tare_state_destroy(state);
  tare_state_destroy(clone);
}

namespace {

std::vector<std::string> keys_of(const tare_state* state) {
  uint64_t count = 0;
  REQUIRE(tare_state_count(&count, state, nullptr) == TARE_OK);
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < count; ++i) {
    tare_text* key = nullptr;
    REQUIRE(tare_state_key(&key, state, i, nullptr) == TARE_OK);
    keys.emplace_back(tare_text_data(key));
    tare_text_destroy(key);
  }
  return keys;
}

}  // namespace

TEST_CASE("whatever a state holds, but for its policy, can be removed by its key, and nothing goes with it") {
  const std::string json =
      R"({"policy":"torch","params":{"growth_interval":9,"variant":"x"},"fields":{"scale":8,"_growth_tracker":3},)"
      R"("statistics":{"steps":7,"skipped":2},"other":{"note":"mine","more":[1,2]}})";
  tare_state* whole = nullptr;
  REQUIRE(tare_state_from_json(&whole, json.data(), json.size(), nullptr) == TARE_OK);
  const std::vector<std::string> keys = keys_of(whole);
  REQUIRE(keys.size() == 8);
  for (const std::string& key : keys) {
    INFO(key);
    const bool stays = key == "policy";
    tare_state* state = nullptr;
    REQUIRE(tare_state_clone(&state, whole, nullptr) == TARE_OK);
    CHECK(tare_state_remove(state, key.c_str(), nullptr) == (stays ? TARE_E_NOT_FOUND : TARE_OK));
    std::vector<std::string> left = keys;
    if (!stays) left.erase(std::find(left.begin(), left.end(), key));
    CHECK(keys_of(state) == left);
    tare_state_destroy(state);
  }
  tare_state_destroy(whole);
}

TEST_CASE("an array's dimensions are told") {
  tare_fp8* fp8 = nullptr;
  tare_state* state = nullptr;
  REQUIRE(tare_fp8_create(&fp8, R"({"policy":"transformer_engine","slots":3,"amax_history_len":5})", nullptr) ==
          TARE_OK);
  REQUIRE(tare_fp8_save(&state, fp8, nullptr, nullptr) == TARE_OK);
  uint64_t shape[4] = {};
  uint64_t rank = 0;
  REQUIRE(tare_state_shape(nullptr, &rank, state, "amax_history", nullptr) == TARE_OK);
  REQUIRE(rank == 2);
  rank = 1;
  CHECK(tare_state_shape(shape, &rank, state, "amax_history", nullptr) == TARE_E_INVALID_ARGUMENT);
  rank = 4;
  REQUIRE(tare_state_shape(shape, &rank, state, "amax_history", nullptr) == TARE_OK);
  CHECK(rank == 2);
  CHECK(shape[0] * shape[1] == 15);
  CHECK(tare_state_shape(shape, &rank, state, "policy", nullptr) == TARE_E_MISMATCH);
  tare_state_destroy(state);
  tare_fp8_destroy(fp8);
}
