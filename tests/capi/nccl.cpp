// A comm of NCCL's: whose NCCL it is, which versions, and where it may be used. No GPU is needed for that.
#include <dlfcn.h>
#include <tare/tare.h>

#include <string>

#include "tests/catch.hpp"

namespace {

int on_third_device = 3;

int32_t make(tare_comm** comm, tare_error& error, int* communicator = &on_third_device) {
  error = TARE_ERROR_INIT;
  return tare_comm_from_nccl(comm, communicator, &error);
}

/// The stand-in, loaded as torch loads its NCCL: nobody else sees its names.
void say_version(int version) {
  static void* const nccl = dlopen(TARE_STAND_IN_NCCL, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(nccl != nullptr);
  reinterpret_cast<void (*)(int)>(dlsym(nccl, "stand_in_version"))(version);
}

}  // namespace

TEST_CASE("NCCL is that of the process: none is looked for, and one of another version is refused") {
  tare_comm* comm = nullptr;
  tare_error error = TARE_ERROR_INIT;
  CHECK(tare_comm_from_nccl(&comm, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_comm_from_nccl(nullptr, &on_third_device, &error) == TARE_E_INVALID_ARGUMENT);
  REQUIRE(make(&comm, error) == TARE_E_UNSUPPORTED);  // before the process loads one
  CHECK(std::string(error.message).starts_with("this process has not loaded libnccl.so.2"));
  for (const auto& [version, told] : {std::pair{2804, "2.8.4"}, {20899, "2.8.99"}, {30000, "3.0.0"}}) {
    say_version(version);
    CHECK(make(&comm, error) == TARE_E_UNSUPPORTED);
    CHECK(std::string(error.message).starts_with("the NCCL of this process is " + std::string(told)));
    CHECK(comm == nullptr);
  }
  for (const int version : {20900, 29999}) {
    say_version(version);
    CHECK(make(&comm, error) == TARE_OK);
    tare_comm_destroy(comm);
  }
}

TEST_CASE("what NCCL takes for no communicator is refused with its number") {
  say_version(22809);
  tare_comm* comm = nullptr;
  tare_error error = TARE_ERROR_INIT;
  int none = -1;
  CHECK(make(&comm, error, &none) == TARE_E_INVALID_ARGUMENT);
  CHECK(error.detail == 4);
  CHECK(std::string(error.message).find("invalid argument (4)") != std::string::npos);
}

TEST_CASE("a scaler and slots on the CPU refuse a comm of NCCL's") {
  say_version(22809);
  tare_comm* comm = nullptr;
  tare_error error = TARE_ERROR_INIT;
  REQUIRE(make(&comm, error) == TARE_OK);
  tare_scaler* scaler = nullptr;
  REQUIRE(tare_scaler_create(&scaler, R"({"policy":"torch"})", nullptr) == TARE_OK);
  CHECK(tare_scaler_set_comm(scaler, comm, nullptr, &error) == TARE_E_UNSUPPORTED);
  CHECK(std::string(error.message).starts_with("the comm is one of NCCL's on cuda:3, and this computes on the CPU"));
  tare_fp8* fp8 = nullptr;
  REQUIRE(tare_fp8_create(&fp8, R"({"policy":"msamp","slots":1,"format":"e4m3"})", nullptr) == TARE_OK);
  CHECK(tare_fp8_set_comm(fp8, comm, &error) == TARE_E_UNSUPPORTED);
  tare_fp8_destroy(fp8);
  tare_scaler_destroy(scaler);
  tare_comm_destroy(comm);
}
