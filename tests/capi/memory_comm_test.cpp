// A comm where memory runs out.
#include <tare/tare.h>

#include "tests/capi/exchange.hpp"
#include "tests/capi/failing_memory.hpp"
#include "tests/capi/fp8_ranks.hpp"
#include "tests/capi/ranks.hpp"
#include "tests/catch.hpp"

using namespace tare::test;

TEST_CASE("a comm without memory is status 3, and a step with it allocates nothing") {
  Meeting meeting(1);
  tare_comm* comm = meeting.comm();
  tare_comm* no_comm = nullptr;
  tare_scaler* scaler = nullptr;
  REQUIRE(tare_scaler_create(&scaler, R"({"policy":"torch"})", nullptr) == TARE_OK);
  fail_everywhere("comm_from_callbacks", [] {
    const tare_collectives collectives{sizeof collectives,
                                       nullptr,
                                       [](void*, void*, uint64_t, int32_t, tare_stream) { return int32_t{0}; },
                                       0,
                                       nullptr,
                                       nullptr};
    tare_comm* made = nullptr;
    const int32_t status = tare_comm_from_callbacks(&made, &collectives, nullptr);
    tare_comm_destroy(made);
    return status;
  });
  // Nobody started MPI here, or there is no module.
  const int32_t without = tare_comm_from_mpi(&no_comm, R"({"communicator":0})", nullptr);
  CHECK((without == TARE_E_REFUSED || without == TARE_E_UNSUPPORTED));
  fail_everywhere_or_give(without, "comm_from_mpi", [] {
    tare_comm* made = nullptr;
    return tare_comm_from_mpi(&made, R"({"communicator":0,"timeout_seconds":2})", nullptr);
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

TEST_CASE("FP8 slots of a comm without memory are status 3, and an update with it allocates nothing") {
  Meeting meeting(1);
  tare_comm* comm = meeting.comm();
  tare_fp8* fp8 = nullptr;
  REQUIRE(tare_fp8_create(&fp8, R"({"policy":"fp8_lm","slots":["a","b"]})", nullptr) == TARE_OK);
  fail_everywhere("fp8_set_comm", [&] {
    const int32_t status = tare_fp8_set_comm(fp8, comm, nullptr);
    return status == TARE_OK ? tare_fp8_set_comm(fp8, nullptr, nullptr) : status;
  });
  REQUIRE(tare_fp8_set_comm(fp8, comm, nullptr) == TARE_OK);
  const auto update = [&] { return tare_fp8_update(fp8, nullptr, nullptr); };
  CHECK(update() == TARE_OK);  // the ranks' own memory grows
  const Attempt made = attempt(1, update);
  CHECK_FALSE(made.failed);
  CHECK(made.status == TARE_OK);
  tare_fp8_destroy(fp8);
  tare_comm_destroy(comm);
}

TEST_CASE("a sum of gradients in fp8 without memory is status 3, and slots note those alone that are made") {
  Exchange alone(1);
  int made = 0;
  std::string states[2];
  for (const bool fails : {true, false}) {
    tare_comm* comm = alone.comm(0);
    tare_fp8* fp8 = nullptr;
    REQUIRE(tare_fp8_create(&fp8, R"({"policy":"fp8_lm","slots":["a","b"],"format":"e4m3"})", nullptr) == TARE_OK);
    REQUIRE(tare_fp8_set_comm(fp8, comm, nullptr) == TARE_OK);
    const auto sum = [&] {
      float values[2][8] = {{1, 2, 3}, {4}};
      const tare_tensor tensors[] = {{values[0], 8, TARE_F32, 0}, {values[1], 8, TARE_F32, 0}};
      return tare_fp8_all_reduce(fp8, tensors, nullptr, 2, R"({"bucket_bytes":5})", nullptr, nullptr);
    };
    if (fails) {
      fail_everywhere("fp8_all_reduce", [&] {
        const int32_t status = sum();
        made += status == TARE_OK ? 1 : 0;
        return status;
      });
    } else {
      for (int i = 0; i < made; ++i) CHECK(sum() == TARE_OK);
    }
    states[fails ? 1 : 0] = state_of(fp8);
    tare_fp8_destroy(fp8);
    tare_comm_destroy(comm);
  }
  CHECK(states[0] == states[1]);
}

TEST_CASE("a list's accumulators and their report allocate nothing") {
  tare_scaler* scaler = nullptr;
  tare_grads* grads = nullptr;
  float values[4] = {};
  const tare_tensor tensor{values, 4, TARE_F32, 0};
  REQUIRE(tare_scaler_create(&scaler, R"({"policy":"torch"})", nullptr) == TARE_OK);
  REQUIRE(tare_grads_create(&grads, scaler, &tensor, 1, nullptr) == TARE_OK);
  const Attempt made = attempt(1, [&] {
    void* data = nullptr;
    uint64_t bytes = 0;
    const int32_t status = tare_grads_accumulators(&data, &bytes, grads, nullptr);
    return status == TARE_OK ? tare_grads_report_reduced(grads, nullptr, nullptr) : status;
  });
  CHECK_FALSE(made.failed);
  CHECK(made.status == TARE_OK);
  tare_grads_destroy(grads);
  tare_scaler_destroy(scaler);
}
