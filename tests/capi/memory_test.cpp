// [P7]: the n-th allocation fails, for every n, in the whole library (this program's operator new is not the library's,
// so malloc itself is replaced).
#include <dlfcn.h>
#include <tare/tare.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <iostream>

namespace {

std::atomic<bool> counting{false};
std::atomic<long> left{0};
std::atomic<long> living{0};

bool fails() {
  return counting.load(std::memory_order_relaxed) && left.fetch_sub(1) == 0;
}

}  // namespace

extern "C" void* __libc_malloc(std::size_t size);
extern "C" void __libc_free(void* memory);

extern "C" void* malloc(std::size_t size) {
  if (fails()) {
    errno = ENOMEM;
    return nullptr;
  }
  void* memory = __libc_malloc(size);
  if (counting && memory != nullptr) ++living;
  return memory;
}

extern "C" void free(void* memory) {
  if (counting && memory != nullptr) --living;
  __libc_free(memory);
}

namespace {

/// Runs `call` with its first, second ... allocation failing, until it gets through. It must give status 3 each time,
/// and leave nothing behind.
void fail_everywhere(const char* name, const std::function<int32_t()>& call) {
  REQUIRE(call() == TARE_OK);  // what is made once is made now
  long failures = 0;
  for (long n = 0;; ++n) {
    left = n;
    living = 0;
    counting = true;
    const int32_t status = call();
    const bool failed = left < 0;
    counting = false;
    INFO(name << ", allocation " << n);
    if (!failed) break;
    ++failures;
    REQUIRE(status == TARE_E_OUT_OF_MEMORY);
    REQUIRE(living == 0);
  }
  std::cout << name << ": " << failures << " allocations\n";
}

}  // namespace

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
  tare_scaler_destroy(scaler);
}
