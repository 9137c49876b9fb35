// What a scaler does with memory that it keeps nothing of: a loss multiplied, and torch's rule on a caller's own state.
#include <tare/tare.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "kernels/dtype.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

class Scaler {
 public:
  explicit Scaler(const std::string& config) {
    REQUIRE(tare_scaler_create(&handle_, config.c_str(), nullptr) == TARE_OK);
  }
  ~Scaler() { tare_scaler_destroy(handle_); }
  Scaler(const Scaler&) = delete;
  Scaler& operator=(const Scaler&) = delete;

  [[nodiscard]] tare_scaler* get() const { return handle_; }
  [[nodiscard]] double number(const char* key) const {
    double value = 0;
    REQUIRE(tare_scaler_number(&value, handle_, key, nullptr, nullptr) == TARE_OK);
    return value;
  }

 private:
  tare_scaler* handle_ = nullptr;
};

template <class Value>
void multiply(const Scaler& scaler, std::vector<Value>& values, int32_t dtype) {
  const tare_tensor tensor{values.data(), values.size(), dtype, 0};
  REQUIRE(tare_scaler_scale_tensors(scaler.get(), &tensor, 1, nullptr, nullptr) == TARE_OK);
}

}  // namespace

TEST_CASE("a loss is multiplied by the scale, and nothing is noted of it") {
  const Scaler scaler(R"({"policy":"torch","initial_scale":65536})");
  std::vector<float> loss = {0.75f, -2.5f, 0.0f, 1e38f, std::nanf("")};
  multiply(scaler, loss, TARE_F32);
  CHECK(loss[0] == 49152.0f);
  CHECK(loss[1] == -163840.0f);
  CHECK(loss[2] == 0.0f);
  CHECK(std::isinf(loss[3]));
  CHECK(std::isnan(loss[4]));
  std::vector<double> in_double = {1.0 / 3};
  multiply(scaler, in_double, TARE_F64);
  CHECK(in_double[0] == 65536.0 / 3);
  const void* found_inf = nullptr;
  REQUIRE(tare_scaler_pointer(&found_inf, scaler.get(), TARE_POINTER_FOUND_INF, nullptr) == TARE_OK);
  CHECK(*static_cast<const float*>(found_inf) == 0);
  CHECK(scaler.number("scale") == 65536);
  CHECK(tare_scaler_update(scaler.get(), nullptr, nullptr) == TARE_E_RULE);  // as torch: nothing was unscaled
}

TEST_CASE("an update is let through by an empty list, and not by nothing at all") {
  const Scaler scaler(R"({"policy":"torch"})");
  CHECK(tare_scaler_update(scaler.get(), nullptr, nullptr) == TARE_E_RULE);
  REQUIRE(tare_scaler_unscale(scaler.get(), nullptr, 0, nullptr, nullptr) == TARE_OK);
  CHECK(tare_scaler_update(scaler.get(), nullptr, nullptr) == TARE_OK);
}

TEST_CASE("a caller's scale and tracker that overlap, or are not aligned, are refused before anything is written") {
  const Scaler scaler(R"({"policy":"torch"})");
  alignas(4) unsigned char bytes[16] = {};
  const auto update = [&](int scale, int tracker, int found) {
    const auto at = [&](int place) { return static_cast<void*>(bytes + place); };
    return tare_scaler_update_elsewhere(scaler.get(), static_cast<float*>(at(scale)),
                                        static_cast<std::int32_t*>(at(tracker)), static_cast<float*>(at(found)),
                                        nullptr, nullptr);
  };
  CHECK(update(1, 4, 8) == TARE_E_INVALID_ARGUMENT);
  CHECK(update(0, 6, 8) == TARE_E_INVALID_ARGUMENT);
  CHECK(update(0, 4, 9) == TARE_E_INVALID_ARGUMENT);
  CHECK(update(0, 0, 8) == TARE_E_INVALID_ARGUMENT);
  CHECK(update(0, 4, 0) == TARE_E_INVALID_ARGUMENT);
  CHECK(std::all_of(std::begin(bytes), std::end(bytes), [](unsigned char byte) { return byte == 0; }));
  CHECK(update(0, 4, 8) == TARE_OK);
}

TEST_CASE("a loss of 16 bits is multiplied in float32 and rounded once") {
  const Scaler scaler(R"({"policy":"torch","initial_scale":65536})");
  std::vector<std::uint16_t> half = {narrow<F16>(0.5f), narrow<F16>(2.0f)};
  multiply(scaler, half, TARE_F16);
  CHECK(widen<F16>(half[0]) == 32768.0f);  // with the scale rounded to f16 first it would be infinite
  CHECK(std::isinf(widen<F16>(half[1])));
  const Scaler third(R"({"policy":"torch","initial_scale":0.333333343})");
  std::vector<std::uint16_t> brain = {narrow<Bf16>(3.0f), narrow<Bf16>(1.0f)};
  multiply(third, brain, TARE_BF16);
  CHECK(widen<Bf16>(brain[0]) == 1.0f);
  CHECK(brain[1] == narrow<Bf16>(0.333333343f));
}

TEST_CASE("what is multiplied must be writable: fp8 is refused, and so is a tensor without data") {
  const Scaler scaler(R"({"policy":"torch"})");
  std::uint8_t bytes[4] = {};
  tare_tensor tensor{bytes, 4, TARE_F8E4M3FN, 0};
  CHECK(tare_scaler_scale_tensors(scaler.get(), &tensor, 1, nullptr, nullptr) == TARE_E_UNSUPPORTED);
  tensor = {nullptr, 4, TARE_F32, 0};
  CHECK(tare_scaler_scale_tensors(scaler.get(), &tensor, 1, nullptr, nullptr) == TARE_E_INVALID_ARGUMENT);
}

TEST_CASE(
    "torch's rule on a caller's state goes as a scaler's own does, 100,000 random steps long, and leaves that alone") {
  const Scaler own(R"({"policy":"torch","initial_scale":1024,"growth_interval":7})");
  const Scaler rule(R"({"policy":"torch","initial_scale":3,"growth_interval":7})");
  float scale = 1024;
  std::int32_t tracker = 0;
  std::mt19937 random(5);
  int wrong = 0;
  for (int i = 0; i < 100000; ++i) {
    const bool overflows = random() % 11 == 0;
    const float found_inf = !overflows ? 0.0f : random() % 2 == 0 ? 1.0f : std::nanf("");
    REQUIRE(tare_scaler_report_overflow(own.get(), overflows, nullptr, nullptr) == TARE_OK);
    REQUIRE(tare_scaler_update(own.get(), nullptr, nullptr) == TARE_OK);
    REQUIRE(tare_scaler_update_elsewhere(rule.get(), &scale, &tracker, &found_inf, nullptr, nullptr) == TARE_OK);
    wrong += scale != own.number("scale") || tracker != own.number("growth_tracker");
  }
  CHECK(wrong == 0);
  CHECK(rule.number("scale") == 3);
  CHECK(rule.number("statistics.steps") == 0);
}

TEST_CASE("only a scaler of torch's policy steps elsewhere") {
  const Scaler scaler(R"({"policy":"megatron"})");
  float scale = 1, found = 0;
  std::int32_t tracker = 0;
  tare_error error = TARE_ERROR_INIT;
  CHECK(tare_scaler_update_elsewhere(scaler.get(), &scale, &tracker, &found, nullptr, &error) == TARE_E_WRONG_KIND);
  CHECK(std::string(error.message).find("policy \"megatron\"") != std::string::npos);
  CHECK((scale == 1 && tracker == 0));
}
