// A comm where memory runs out.
#include <tare/tare.h>

#include "tests/capi/failing_memory.hpp"
#include "tests/capi/ranks.hpp"
#include "tests/catch.hpp"

using namespace tare::test;

TEST_CASE("a comm without memory is status 3, and a step with it allocates nothing") {
  Meeting meeting(1);
  tare_comm* comm = meeting.comm();
  tare_scaler* scaler = nullptr;
  REQUIRE(tare_scaler_create(&scaler, R"({"policy":"torch"})", nullptr) == TARE_OK);
  fail_everywhere("comm_from_callbacks", [] {
    const tare_collectives collectives{sizeof collectives, nullptr,
                                       [](void*, void*, uint64_t, int32_t, tare_stream) { return int32_t{0}; }};
    tare_comm* made = nullptr;
    const int32_t status = tare_comm_from_callbacks(&made, &collectives, nullptr);
    tare_comm_destroy(made);
    return status;
  });
  fail_everywhere("set_comm", [&] {
    const int32_t status = tare_scaler_set_comm(scaler, comm, R"({"gradients":"sharded"})", nullptr);
    return status == TARE_OK ? tare_scaler_set_comm(scaler, nullptr, nullptr, nullptr) : status;
  });
  REQUIRE(tare_scaler_set_comm(scaler, comm, nullptr, nullptr) == TARE_OK);
  float values[8] = {};
  const tare_tensor tensor{values, 8, TARE_F32, 0};
  const auto step = [&] {
    tare_scaler_unscale(scaler, &tensor, 1, nullptr, nullptr);
    return tare_scaler_update(scaler, nullptr, nullptr);
  };
  step();
  const Attempt second = attempt(1, step);
  CHECK_FALSE(second.failed);
  CHECK(second.status == TARE_OK);
  tare_scaler_destroy(scaler);
  tare_comm_destroy(comm);
}
