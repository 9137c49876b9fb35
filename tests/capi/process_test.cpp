// [P1], [P3], [P4], [P6]: the process that loads the library stays as it was.
#include <fenv.h>
#include <signal.h>
#include <sys/wait.h>
#include <tare/tare.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <clocale>
#include <thread>
#include <vector>

#include "tests/catch.hpp"

namespace {

tare_scaler* made(const char* config) {
  tare_scaler* scaler = nullptr;
  REQUIRE(tare_scaler_create(&scaler, config, nullptr) == TARE_OK);
  return scaler;
}

}  // namespace

#if defined(__x86_64__)
TEST_CASE("rounding and flush-to-zero of the caller neither matter nor change") {
  const unsigned before = _mm_getcsr();
  const unsigned odd = 0x1f80 | 0x8000 | 0x0040 | _MM_ROUND_UP;  // flush, denormals are zero, round up
  tare_scaler* scaler = made(R"({"policy":"torch","initial_scale":3,"backoff_factor":0.1})");
  float values[2] = {1.0f, 1e-40f};
  const tare_tensor tensor{values, 2, TARE_F32, 0};
  _mm_setcsr(odd);
  const int32_t unscaled = tare_scaler_unscale(scaler, &tensor, 1, nullptr, nullptr);
  tare_scaler_report_overflow(scaler, 1, nullptr, nullptr);
  const int32_t updated = tare_scaler_update(scaler, nullptr, nullptr);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  CHECK((unscaled == TARE_OK && updated == TARE_OK));
  CHECK(after == odd);
  const float inverse = static_cast<float>(1.0 / 3.0);
  CHECK(values[0] == inverse);
  CHECK(values[1] == 1e-40f * inverse);
  CHECK(values[1] != 0);
  double scale = 0;
  CHECK(tare_scaler_scale(&scale, scaler, nullptr, nullptr) == TARE_OK);
  CHECK(scale == static_cast<double>(static_cast<float>(3.0 * 0.1)));
  tare_scaler_destroy(scaler);
}
#endif

TEST_CASE("numbers in JSON are read and written the same, whatever the caller rounds to") {
  const auto state_of = [](const char* config) {
    tare_scaler* scaler = made(config);
    tare_state* state = nullptr;
    tare_text* text = nullptr;
    REQUIRE(tare_scaler_save(&state, scaler, nullptr, nullptr) == TARE_OK);
    REQUIRE(tare_state_to_json(&text, state, nullptr) == TARE_OK);
    std::string json = tare_text_data(text);
    tare_text_destroy(text);
    tare_state_destroy(state);
    tare_scaler_destroy(scaler);
    return json;
  };
  const char* config = R"({"policy":"deepspeed","init_scale":1000.1,"scale_factor":1.3})";
  const std::string expected = state_of(config);
  CHECK(expected.find("1000.1,") != std::string::npos);
  for (const int direction : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    fesetround(direction);
    const std::string json = state_of(config);
    const int after = fegetround();
    fesetround(FE_TONEAREST);
    CHECK(json == expected);
    CHECK(after == direction);
  }
}

TEST_CASE("locale and signal handlers stay") {
  const std::string locale = setlocale(LC_ALL, nullptr);
  struct sigaction before {};
  struct sigaction after {};
  sigaction(SIGSEGV, nullptr, &before);
  tare_scaler_destroy(made(R"({"policy":"keras","threads":2})"));
  sigaction(SIGSEGV, nullptr, &after);
  CHECK(locale == setlocale(LC_ALL, nullptr));
  CHECK(before.sa_handler == after.sa_handler);
}

TEST_CASE("a forked child may destroy, and is refused what needs the threads") {
  tare_scaler* scaler = made(R"({"policy":"torch","threads":3})");
  float values[4] = {1, 2, 3, 4};
  const tare_tensor tensor{values, 4, TARE_F32, 0};
  REQUIRE(tare_scaler_unscale(scaler, &tensor, 1, nullptr, nullptr) == TARE_OK);
  const pid_t child = fork();
  if (child == 0) {
    const int32_t status = tare_scaler_unscale(scaler, &tensor, 1, nullptr, nullptr);
    tare_scaler_destroy(scaler);
    _exit(status == TARE_E_REFUSED ? 0 : 1);
  }
  int how = 0;
  REQUIRE(waitpid(child, &how, 0) == child);
  CHECK(WIFEXITED(how));
  CHECK(WEXITSTATUS(how) == 0);
  CHECK(tare_scaler_unscale(scaler, &tensor, 1, nullptr, nullptr) == TARE_OK);
  tare_scaler_destroy(scaler);
}

TEST_CASE("const calls on one handle, and calls on different ones, run at the same time") {
  tare_scaler* shared = made(R"({"policy":"torch"})");
  std::vector<int32_t> wrong(8, 0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    threads.emplace_back([shared, &wrong, i] {
      tare_scaler* own = nullptr;
      wrong[i] += tare_scaler_create(&own, R"({"policy":"torch","initial_scale":8})", nullptr);
      for (int step = 0; step < 200; ++step) {
        double scale = 0;
        tare_state* state = nullptr;
        wrong[i] += tare_scaler_scale(&scale, shared, nullptr, nullptr);
        wrong[i] += tare_scaler_save(&state, shared, nullptr, nullptr);
        tare_state_destroy(state);
        wrong[i] += tare_scaler_report_overflow(own, 0, nullptr, nullptr) + tare_scaler_update(own, nullptr, nullptr);
      }
      tare_scaler_destroy(own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int32_t status : wrong) CHECK(status == 0);
  tare_scaler_destroy(shared);
}
