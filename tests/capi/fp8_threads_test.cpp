// FP8 casts on several threads, and slots that are found by their names.
#include <sys/wait.h>
#include <tare/tare.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace {

/// Slots of fp8_lm, which count what saturates besides the greatest magnitude, and what they make of a list.
struct Slots {
  tare_fp8* fp8 = nullptr;
  std::vector<std::vector<uint8_t>> narrow;
  std::vector<std::vector<float>> back;

  explicit Slots(const std::string& config) { REQUIRE(tare_fp8_create(&fp8, config.c_str(), nullptr) == TARE_OK); }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  ~Slots() { tare_fp8_destroy(fp8); }

  void step(std::vector<std::vector<float>>& values, const std::vector<uint32_t>& slots) {
    std::vector<tare_tensor> in, out, wide;
    narrow.clear();
    back.clear();
    for (std::vector<float>& one : values) {
      in.push_back({one.data(), one.size(), TARE_F32, 0});
      out.push_back({narrow.emplace_back(one.size()).data(), one.size(), TARE_F8E4M3FN, 0});
      wide.push_back({back.emplace_back(one.size()).data(), one.size(), TARE_F32, 0});
    }
    REQUIRE(tare_fp8_observe(fp8, in.data(), slots.data(), in.size(), nullptr, nullptr) == TARE_OK);
    REQUIRE(tare_fp8_quantize(fp8, out.data(), in.data(), slots.data(), in.size(), nullptr, nullptr) == TARE_OK);
    REQUIRE(tare_fp8_dequantize(fp8, wide.data(), out.data(), slots.data(), in.size(), nullptr, nullptr) == TARE_OK);
  }
  std::string update() {
    tare_text* text = nullptr;
    REQUIRE(tare_fp8_statistics(&text, fp8, nullptr, nullptr) == TARE_OK);
    std::string told = tare_text_data(text);
    tare_text_destroy(text);
    REQUIRE(tare_fp8_update(fp8, nullptr, nullptr) == TARE_OK);
    return told;
  }
};

std::string config_of(const std::string& policy, int threads) {
  return R"({"policy":")" + policy + R"(","slots":3,"threads":)" + std::to_string(threads) + "}";
}

}  // namespace

TEST_CASE("FP8 casts have the same bits on any number of threads") {
  const std::string policy = GENERATE("transformer_engine", "fp8_lm", "flax_fp8");
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal(0, 100);
  std::vector<std::vector<float>> values;
  for (const std::size_t count : {400'000U, 3U, 0U, 131'072U, 131'073U, 70'000U}) {
    for (float& value : values.emplace_back(count)) value = normal(random);
  }
  values[0][399'999] = 1e30F;  // in the last part
  values[4][0] = NAN;
  const std::vector<uint32_t> slots = {0, 1, 2, 0, 2, 1};
  for (const int threads : {2, 3, 8}) {
    Slots many(config_of(policy, threads));
    Slots one(config_of(policy, 1));
    for (int step = 0; step < 3; ++step) {
      many.step(values, slots);
      one.step(values, slots);
      CHECK(many.narrow == one.narrow);
      for (std::size_t i = 0; i < values.size(); ++i) {
        CHECK(std::memcmp(many.back[i].data(), one.back[i].data(), one.back[i].size() * sizeof(float)) == 0);
      }
      CHECK(many.update() == one.update());
    }
  }
}

TEST_CASE("threads of FP8 slots are told by what is allowed, with a state, too") {
  tare_fp8* fp8 = nullptr;
  tare_error error = TARE_ERROR_INIT;
  for (const char* threads : {"0", "1025", "-1", "1.5", "\"2\""}) {
    const std::string config = std::string(R"({"policy":"msamp","threads":)") + threads + "}";
    CHECK(tare_fp8_create(&fp8, config.c_str(), &error) == TARE_E_INVALID_ARGUMENT);
    CHECK(std::string(error.message).find("threads is ") != std::string::npos);
  }
  REQUIRE(tare_fp8_create(&fp8, R"({"policy":"msamp","slots":2})", nullptr) == TARE_OK);
  tare_state* state = nullptr;
  REQUIRE(tare_fp8_save(&state, fp8, nullptr, nullptr) == TARE_OK);
  tare_fp8* resumed = nullptr;
  CHECK(tare_fp8_create_from_state(&resumed, state, R"({"threads":2})", nullptr) == TARE_OK);
  tare_fp8_destroy(resumed);
  CHECK(tare_fp8_create_from_state(&resumed, state, R"({"threads":0})", &error) == TARE_E_INVALID_ARGUMENT);
  tare_state_destroy(state);
  tare_fp8_destroy(fp8);
}

TEST_CASE("a forked child may destroy FP8 slots that have threads, and is refused a cast") {
  Slots slots(config_of("transformer_engine", 2));
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    float value = 1;
    const tare_tensor tensor{&value, 1, TARE_F32, 0};
    const bool refused = tare_fp8_observe(slots.fp8, &tensor, nullptr, 1, nullptr, nullptr) == TARE_E_REFUSED;
    tare_fp8_destroy(slots.fp8);
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("an FP8 slot is found by its name, unless none or several have it") {
  Slots slots(R"({"policy":"transformer_engine","slots":["fc1.input","fc1.weight","twice","twice"]})");
  tare_error error = TARE_ERROR_INIT;
  uint32_t number = 77;
  REQUIRE(tare_fp8_slot(&number, slots.fp8, "fc1.weight", nullptr) == TARE_OK);
  CHECK(number == 1);
  CHECK(tare_fp8_slot(&number, slots.fp8, "fc1", &error) == TARE_E_MISMATCH);
  CHECK(std::string(error.message).find("no slot is called \"fc1\"") == 0);
  CHECK(std::string(error.message).find("has their names") != std::string::npos);
  CHECK(tare_fp8_slot(&number, slots.fp8, "twice", &error) == TARE_E_MISMATCH);
  CHECK(std::string(error.message).find("several slots are called \"twice\"") == 0);
  CHECK(number == 1);
  Slots nameless(config_of("transformer_engine", 2));
  CHECK(tare_fp8_slot(&number, nameless.fp8, "fc1", &error) == TARE_E_MISMATCH);
  CHECK(std::string(error.message).find("These slots have no names.") != std::string::npos);
}
