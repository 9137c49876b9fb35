// What a scaler tells: found-inf for an all-reduce, statistics, the scale as others hold it. And the numbers of
// statuses.
#include <tare/tare.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.hpp"

namespace {

using Json = nlohmann::json;

const float infinity = std::numeric_limits<float>::infinity();

class Scaler {
 public:
  explicit Scaler(const char* config) { REQUIRE(tare_scaler_create(&handle_, config, nullptr) == TARE_OK); }
  ~Scaler() { tare_scaler_destroy(handle_); }
  Scaler(const Scaler&) = delete;
  Scaler& operator=(const Scaler&) = delete;

  [[nodiscard]] double scale() const {
    double scale = 0;
    REQUIRE(tare_scaler_scale(&scale, handle_, nullptr, nullptr) == TARE_OK);
    return scale;
  }
  [[nodiscard]] float shown(int32_t which) const {
    const void* pointer = nullptr;
    REQUIRE(tare_scaler_pointer(&pointer, handle_, which, nullptr) == TARE_OK);
    return *static_cast<const float*>(pointer);
  }
  [[nodiscard]] float& found_inf() const {
    void* data = nullptr;
    uint64_t bytes = 0;
    REQUIRE(tare_scaler_accumulators(&data, &bytes, handle_, nullptr) == TARE_OK);
    REQUIRE(bytes == sizeof(float));
    return *static_cast<float*>(data);
  }
  [[nodiscard]] Json statistics() const {
    tare_text* text = nullptr;
    REQUIRE(tare_scaler_statistics(&text, handle_, nullptr, nullptr) == TARE_OK);
    Json json = Json::parse(tare_text_data(text));
    tare_text_destroy(text);
    return json;
  }
  void observe(void* data, uint64_t count, int32_t dtype) const {
    const tare_tensor tensor{data, count, dtype, 0};
    REQUIRE(tare_scaler_observe(handle_, &tensor, 1, nullptr, nullptr) == TARE_OK);
  }
  void update() const { REQUIRE(tare_scaler_update(handle_, nullptr, nullptr) == TARE_OK); }
  [[nodiscard]] tare_scaler* get() const { return handle_; }

 private:
  tare_scaler* handle_ = nullptr;
};

std::ptrdiff_t threads_of_this_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

}  // namespace

TEST_CASE("found-inf that an all-reduce brought from another rank is an overflow, and goes with the update") {
  const Scaler scaler(R"({"policy":"torch","initial_scale":1024})");
  float& found_inf = scaler.found_inf();
  double scale = 1024;
  for (const float reduced : {1.0f, 2.0f, infinity, std::nanf("")}) {
    float value = 1;
    scaler.observe(&value, 1, TARE_F32);
    CHECK(found_inf == 0);
    found_inf = reduced;
    scaler.update();
    scale /= 2;
    CHECK(scaler.scale() == scale);
    CHECK(found_inf == 0);
  }
}

TEST_CASE("noop follows an all-reduce when the scaler is told of it") {
  const Scaler scaler(R"({"policy":"torch","initial_scale":1024})");
  const void* noop = nullptr;
  REQUIRE(tare_scaler_pointer(&noop, scaler.get(), TARE_POINTER_NOOP, nullptr) == TARE_OK);
  float value = 1;
  scaler.observe(&value, 1, TARE_F32);
  scaler.found_inf() = 1;
  REQUIRE(tare_scaler_report_reduced(scaler.get(), nullptr, nullptr) == TARE_OK);
  CHECK(*static_cast<const int32_t*>(noop) == 1);
  scaler.update();
  CHECK(*static_cast<const int32_t*>(noop) == 0);
}

TEST_CASE("the address for an all-reduce is the same after a load") {
  const Scaler scaler(R"({"policy":"torch"})");
  const float* before = &scaler.found_inf();
  tare_state* state = nullptr;
  REQUIRE(tare_scaler_save(&state, scaler.get(), nullptr, nullptr) == TARE_OK);
  CHECK(tare_scaler_load(scaler.get(), state, nullptr, nullptr) == TARE_OK);
  tare_state_destroy(state);
  CHECK(&scaler.found_inf() == before);
}

TEST_CASE("observing notes infinities of every dtype and writes nothing") {
  const Scaler scaler(R"({"policy":"torch","initial_scale":1024})");
  float f32[] = {1, -infinity};
  double f64[] = {1, std::nan("")};
  uint16_t f16[] = {0x3c00, 0x7c00};
  uint16_t bf16[] = {0x3f80, 0xff80};
  uint8_t e4m3[] = {0x38, 0x7f};
  uint8_t e5m2[] = {0x3c, 0x7c};
  struct {
    void* data;
    int32_t dtype;
    std::size_t size;
  } const cases[] = {{f32, TARE_F32, 4},   {f64, TARE_F64, 8},       {f16, TARE_F16, 2},
                     {bf16, TARE_BF16, 2}, {e4m3, TARE_F8E4M3FN, 1}, {e5m2, TARE_F8E5M2, 1}};
  double scale = 1024;
  for (const auto& one : cases) {
    INFO(one.dtype);
    const std::string before(static_cast<const char*>(one.data), 2 * one.size);
    scaler.observe(one.data, 1, one.dtype);
    CHECK(scaler.shown(TARE_POINTER_FOUND_INF) == 0);
    scaler.observe(one.data, 2, one.dtype);
    CHECK(scaler.shown(TARE_POINTER_FOUND_INF) == 1);
    CHECK(std::string(static_cast<const char*>(one.data), 2 * one.size) == before);
    scaler.update();
    scale /= 2;
    CHECK(scaler.scale() == scale);
  }
}

TEST_CASE("statistics are of the values as they were read, up to the update and in the step before it") {
  const Scaler scaler(R"({"policy":"torch","initial_scale":4,"underflow_threshold":0.5,"growth_interval":1})");
  float first[] = {3, 0, -0.25f};
  float second[] = {-4};
  scaler.observe(first, 3, TARE_F32);
  scaler.observe(second, 1, TARE_F32);
  Json told = scaler.statistics();
  CHECK(told.at("schema") == "tare.statistics/1");
  CHECK(told.at("steps") == 0);
  CHECK(told.at("last_step").at("count") == 0);
  Json seen = told.at("accumulated");
  CHECK(seen.at("count") == 4);
  CHECK(seen.at("zeros") == 1);
  CHECK(seen.at("below") == 1);
  CHECK(seen.at("max_abs") == 4);
  CHECK(seen.at("norm") == std::sqrt(25.0625));

  scaler.update();
  told = scaler.statistics();
  CHECK(told.at("steps") == 1);
  CHECK(told.at("growths") == 1);
  CHECK(told.at("backoffs") == 0);
  CHECK(told.at("skipped") == 0);
  CHECK(told.at("accumulated").at("count") == 0);
  CHECK(told.at("last_step") == seen);

  first[0] = infinity;
  scaler.observe(first, 3, TARE_F32);
  scaler.update();
  told = scaler.statistics();
  CHECK(told.at("skipped") == 1);
  CHECK(told.at("backoffs") == 1);
  CHECK(told.at("last_step").at("max_abs") == "inf");
}

TEST_CASE("a scale that a framework keeps as a double shows rounded to float") {
  const Scaler scaler(R"({"policy":"deepspeed","init_scale":0.1})");
  CHECK(scaler.scale() == 0.1);
  CHECK(scaler.shown(TARE_POINTER_SCALE) == 0.1f);
  CHECK(scaler.shown(TARE_POINTER_INVERSE_SCALE) == static_cast<float>(1 / 0.1));
  REQUIRE(tare_scaler_set_scale(scaler.get(), 1e39, nullptr, nullptr) == TARE_OK);
  CHECK(scaler.scale() == 1e39);
  CHECK(scaler.shown(TARE_POINTER_SCALE) == infinity);
}

TEST_CASE("a scaler's threads end with it") {
  const std::ptrdiff_t before = threads_of_this_process();
  {
    const Scaler scaler(R"({"policy":"torch","threads":4})");
    float values[64] = {};
    scaler.observe(values, 64, TARE_F32);
    CHECK(threads_of_this_process() == before + 3);
  }
  // A thread that was joined leaves its place in /proc a moment later.
  for (int tries = 0; threads_of_this_process() != before && tries < 1000; ++tries) usleep(10000);
  CHECK(threads_of_this_process() == before);
}

TEST_CASE("statuses have the numbers that callers were built with") {
  const std::pair<int32_t, const char*> statuses[] = {
      {0, "ok"},           {1, "invalid argument"}, {2, "wrong kind"}, {3, "out of memory"},
      {10, "unsupported"}, {20, "backend"},         {30, "i/o"},       {31, "corrupt"},
      {32, "not found"},   {33, "mismatch"},        {34, "refused"},   {35, "conflict"},
      {36, "busy"},        {40, "rule raised"},     {90, "internal"}};
  for (const auto& [number, name] : statuses) CHECK(tare_status_name(number) == std::string(name));
  CHECK(TARE_OK == 0);
  CHECK(TARE_E_INVALID_ARGUMENT == 1);
  CHECK(TARE_E_WRONG_KIND == 2);
  CHECK(TARE_E_OUT_OF_MEMORY == 3);
  CHECK(TARE_E_UNSUPPORTED == 10);
  CHECK(TARE_E_BACKEND == 20);
  CHECK(TARE_E_IO == 30);
  CHECK(TARE_E_CORRUPT == 31);
  CHECK(TARE_E_NOT_FOUND == 32);
  CHECK(TARE_E_MISMATCH == 33);
  CHECK(TARE_E_REFUSED == 34);
  CHECK(TARE_E_CONFLICT == 35);
  CHECK(TARE_E_BUSY == 36);
  CHECK(TARE_E_RULE == 40);
  CHECK(TARE_E_INTERNAL == 90);
}
