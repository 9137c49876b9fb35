// A GPU's memory given to the CPU: the call says so and names the tensor, where it would have been a fault.
#include <dlfcn.h>
#include <tare/tare.h>

#include <cstdint>
#include <string>

#include "tests/catch.hpp"

namespace {

using StandInMemory = void (*)(const void*, std::size_t, int);

/// The driver's stand-in, loaded as an application's CUDA runtime loads the driver.
void say_on_device(const void* data, std::size_t size, bool is_managed) {
  static void* const driver = dlopen(TARE_STAND_IN_DRIVER, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(driver != nullptr);
  reinterpret_cast<StandInMemory>(dlsym(driver, "stand_in_memory"))(data, size, is_managed);
}

class Scaler {
 public:
  Scaler() { REQUIRE(tare_scaler_create(&handle_, R"({"policy":"torch"})", nullptr) == TARE_OK); }
  ~Scaler() { tare_scaler_destroy(handle_); }
  Scaler(const Scaler&) = delete;
  Scaler& operator=(const Scaler&) = delete;
  [[nodiscard]] tare_scaler* get() const { return handle_; }

 private:
  tare_scaler* handle_ = nullptr;
};

}  // namespace

TEST_CASE("a GPU's memory is refused wherever tensors are given to the CPU, and the tensor is named") {
  float host[2] = {1, 2}, device[2] = {3, 4};
  say_on_device(device, sizeof device, false);
  const Scaler scaler;
  const tare_tensor both[] = {{host, 2, TARE_F32, 0}, {device, 2, TARE_F32, 0}};
  const tare_tensor hosts[] = {{host, 2, TARE_F32, 0}, {host, 2, TARE_F32, 0}};
  tare_error error = TARE_ERROR_INIT;
  tare_grads* grads = nullptr;
  CHECK(tare_grads_create(&grads, scaler.get(), both, 2, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(std::string(error.message).find("tensor 1 is memory of a GPU, and this computes on the CPU") == 0);
  CHECK(tare_scaler_unscale(scaler.get(), both, 2, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_scaler_scale_tensors(scaler.get(), both, 2, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  REQUIRE(tare_grads_create(&grads, scaler.get(), hosts, 2, &error) == TARE_OK);
  CHECK(tare_grads_rebind(grads, both, 2, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_grads_write(grads, both, 2, nullptr, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(std::string(error.message).find("output 1 ") == 0);
  CHECK(tare_grads_observe(grads, nullptr, &error) == TARE_OK);
  tare_grads_destroy(grads);
  tare_fp8* fp8 = nullptr;
  REQUIRE(tare_fp8_create(&fp8, R"({"policy":"transformer_engine","slots":2,"format":"e4m3"})", &error) == TARE_OK);
  CHECK(tare_fp8_observe(fp8, both, nullptr, 2, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_fp8_observe(fp8, hosts, nullptr, 2, nullptr, &error) == TARE_OK);
  tare_fp8_destroy(fp8);
}

TEST_CASE("managed memory, which both reach, is taken") {
  float managed[2] = {1, 2};
  say_on_device(managed, sizeof managed, true);
  const Scaler scaler;
  const tare_tensor tensor{managed, 2, TARE_F32, 0};
  CHECK(tare_scaler_observe(scaler.get(), &tensor, 1, nullptr, nullptr) == TARE_OK);
}
