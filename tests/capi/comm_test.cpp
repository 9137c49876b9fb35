// tare_comm: ranks that reduce are as one process that saw the gradients of all.
#include <tare/tare.h>

#include <limits>
#include <string>

#include "tests/capi/failing_memory.hpp"
#include "tests/capi/ranks.hpp"
#include "tests/capi/trained.hpp"
#include "tests/catch.hpp"

using namespace tare::test;

namespace {

constexpr std::size_t ranks = 3;

}  // namespace

TEST_CASE("10,000 random steps of three ranks are those of one process that saw all gradients") {
  const auto* const config = R"({"policy":"torch","initial_scale":65536,"growth_interval":5})";
  const std::vector<Step> steps = random_steps(10000, ranks);
  Trained alone(config, ranks);
  std::vector<std::string> expected;
  std::vector<std::vector<float>> expected_writes;
  for (const Step& step : steps) {
    fill(alone, step, 0, ranks);
    expected.push_back(make(alone, step, std::ranges::any_of(step.reported, std::identity{})));
    expected_writes.push_back(alone.written);
  }
  Meeting meeting(ranks);
  tare_comm* comm = meeting.comm();
  std::vector<std::size_t> different(ranks, 0);
  std::vector<std::unique_ptr<Trained>> all;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    all.push_back(std::make_unique<Trained>(config, 1));
    REQUIRE(tare_scaler_set_comm(all.back()->scaler, comm, nullptr, nullptr) == TARE_OK);
  }
  tare_comm_destroy(comm);  // the scalers keep what they need
  on_ranks(ranks, [&](std::size_t rank) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      fill(*all[rank], steps[i], rank, 1);
      if (make(*all[rank], steps[i], steps[i].reported[rank]) != expected[i] ||
          !same_bits(all[rank]->written.data(), expected_writes[i].data() + rank * elements, elements)) {
        ++different[rank];
      }
    }
  });
  CHECK(different == std::vector<std::size_t>(ranks, 0));
  const json told = json::parse(alone.text(tare_scaler_statistics));
  CHECK(told["skipped"].get<int>() > 800);
  CHECK(told["growths"].get<int>() > 100);
}

namespace {

/// Two ranks, each with one f32 and one f64, and a comm.
struct Pair {
  Meeting meeting{2};
  tare_comm* comm = meeting.comm();
  Trained first{R"({"policy":"torch","initial_scale":4})", 1};
  Trained second{R"({"policy":"torch","initial_scale":4})", 1};
  tare_error errors[2] = {TARE_ERROR_INIT, TARE_ERROR_INIT};

  ~Pair() { tare_comm_destroy(comm); }
  void join(const char* options = nullptr) {
    REQUIRE(tare_scaler_set_comm(first.scaler, comm, options, nullptr) == TARE_OK);
    REQUIRE(tare_scaler_set_comm(second.scaler, comm, options, nullptr) == TARE_OK);
  }
  Trained& of(std::size_t rank) { return rank == 0 ? first : second; }
  /// What each rank was told.
  std::vector<int32_t> observe_both() {
    std::vector<int32_t> statuses(2);
    on_ranks(2, [&](std::size_t rank) { statuses[rank] = tare_grads_observe(of(rank).grads, nullptr, &errors[rank]); });
    return statuses;
  }
};

}  // namespace

TEST_CASE_METHOD(Pair, "replicated gradients count once") {
  join(R"({"gradients":"replicated"})");
  for (const std::size_t rank : {0u, 1u}) of(rank).values = {3, 4, 0, 0, 0};
  CHECK(observe_both() == std::vector<int32_t>{TARE_OK, TARE_OK});
  for (const std::size_t rank : {0u, 1u}) {
    const json told = json::parse(of(rank).text(tare_scaler_statistics))["accumulated"];
    CHECK(told["norm"] == 5);
    CHECK(told["count"] == 6);
    CHECK(told["zeros"] == 4);
  }
}

TEST_CASE_METHOD(Pair,
                 "replicated gradients that are not as many on every rank are told to all, and nothing is noted") {
  join(R"({"gradients":"replicated"})");
  const std::string before = first.told();
  float one_value = infinity;
  const tare_tensor list[2] = {{&one_value, 1, TARE_F32, 0}, {second.values.data(), 4, TARE_F32, 0}};
  for (const uint64_t values : {0u, 1u, 5u}) {  // of rank 1; rank 0 has 6
    const uint64_t tensors = values < 2 ? values : 2;
    std::vector<int32_t> statuses(2);
    on_ranks(2, [&](std::size_t rank) {
      statuses[rank] = rank == 0 ? tare_grads_unscale_and_update(first.grads, nullptr, &errors[0])
                                 : tare_scaler_unscale(second.scaler, list, tensors, nullptr, &errors[1]);
    });
    CHECK(statuses == std::vector<int32_t>{TARE_E_MISMATCH, TARE_E_MISMATCH});
    for (const uint64_t rank : {0u, 1u}) {
      INFO(errors[rank].message);
      const std::string told = "the ranks of the comm are not at the same number of values: from " +
                               std::to_string(values) + " to 6, and " + std::to_string(rank == 0 ? 6 : values) +
                               " here\n";
      CHECK(std::string(errors[rank].message).starts_with(told));
      CHECK(std::string(errors[rank].message).find("{\"gradients\":\"sharded\"}") != std::string::npos);
    }
    CHECK(first.told() == before);
  }
  CHECK(observe_both() == std::vector<int32_t>{TARE_OK, TARE_OK});
}

TEST_CASE_METHOD(Pair, "the greatest magnitude of doubles is exact") {
  join();
  first.wide[0] = 1 + std::numeric_limits<double>::epsilon();
  second.wide[0] = -1;
  observe_both();
  CHECK(json::parse(second.text(tare_scaler_statistics))["accumulated"]["max_abs"] == first.wide[0]);
}

TEST_CASE_METHOD(Pair, "ranks that are not at the same call, step or scale are all told, and nothing is noted") {
  join();
  std::string expected;
  SECTION("scale") {
    REQUIRE(tare_scaler_set_scale(second.scaler, 8, nullptr, nullptr) == TARE_OK);
    expected = "the ranks of the comm are not at the same scale: from 4.0 to 8.0, and 4.0 here";
  }
  SECTION("step") {
    REQUIRE(observe_both() == std::vector<int32_t>{TARE_OK, TARE_OK});
    REQUIRE(tare_scaler_update(second.scaler, nullptr, nullptr) == TARE_OK);
    expected = "the ranks of the comm are not at the same step: from 0 to 1, and 0 here";
  }
  const std::string before = first.told();
  CHECK(observe_both() == std::vector<int32_t>{TARE_E_MISMATCH, TARE_E_MISMATCH});
  INFO(errors[0].message);
  CHECK(std::string(errors[0].message).starts_with(expected));
  CHECK(first.told() == before);
}

TEST_CASE_METHOD(Pair, "a rank that makes another call is told, and so is the other") {
  join();
  int32_t status = TARE_OK;
  std::thread other([&] { status = tare_scaler_report_overflow(second.scaler, 0, nullptr, nullptr); });
  CHECK(tare_grads_observe(first.grads, nullptr, &errors[0]) == TARE_E_MISMATCH);
  other.join();
  CHECK(status == TARE_E_MISMATCH);
  CHECK(std::string(errors[0].message).find("call: from report_overflow to observe, and observe here") !=
        std::string::npos);
}

TEST_CASE_METHOD(Pair, "a rank that is gone is the engine's error on the others, and the scaler as it was") {
  join();
  first.values[0] = infinity;
  const std::string before = first.told();
  std::thread other([&] { meeting.leave(); });
  CHECK(tare_grads_unscale_and_update(first.grads, nullptr, &errors[0]) == TARE_E_BACKEND);
  other.join();
  CHECK(errors[0].detail == Meeting::somebody_left);
  CHECK(std::string(errors[0].message).find("all_reduce of the comm's callbacks returned 77") != std::string::npos);
  CHECK(first.told() == before);
}

TEST_CASE_METHOD(Pair, "scaling, the update and a scaler without its comm reduce nothing") {
  join();
  float loss = 1;
  const tare_tensor tensor{&loss, 1, TARE_F32, 0};
  CHECK(tare_scaler_scale_tensors(first.scaler, &tensor, 1, nullptr, nullptr) == TARE_OK);
  REQUIRE(observe_both() == std::vector<int32_t>{TARE_OK, TARE_OK});
  CHECK(meeting.calls() == 4);
  CHECK(tare_scaler_update(first.scaler, nullptr, nullptr) == TARE_OK);
  REQUIRE(tare_scaler_set_comm(first.scaler, nullptr, nullptr, nullptr) == TARE_OK);
  CHECK(tare_grads_observe(first.grads, nullptr, nullptr) == TARE_OK);
  CHECK(meeting.calls() == 4);
}

TEST_CASE_METHOD(Pair, "a comm is refused where it cannot be right") {
  tare_error& error = errors[0];
  CHECK(tare_scaler_set_comm(first.scaler, comm, R"({"gradients":"both"})", &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(std::string(error.message).find("gradients (\"sharded\" or \"replicated\")") != std::string::npos);
  CHECK(tare_scaler_set_comm(first.scaler, comm, R"({"grads":"sharded"})", &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_scaler_set_comm(nullptr, comm, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_scaler_set_comm(first.scaler, reinterpret_cast<tare_comm*>(first.scaler), nullptr, &error) ==
        TARE_E_INVALID_ARGUMENT);
  REQUIRE(tare_grads_observe(first.grads, nullptr, nullptr) == TARE_OK);
  CHECK(tare_scaler_set_comm(first.scaler, comm, nullptr, &error) == TARE_E_REFUSED);
  tare_scaler* layer = nullptr;
  REQUIRE(tare_scaler_create(&layer, R"({"policy":"layerwise"})", nullptr) == TARE_OK);
  CHECK(tare_scaler_set_comm(layer, comm, nullptr, &error) == TARE_E_WRONG_KIND);
  tare_scaler_destroy(layer);
}

TEST_CASE("collectives without a size or a function are refused") {
  tare_comm* comm = nullptr;
  tare_error error = TARE_ERROR_INIT;
  tare_collectives collectives{};
  CHECK(tare_comm_from_callbacks(&comm, &collectives, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(std::string(error.message).starts_with("collectives: struct_size is 0\n"));
  collectives.struct_size = sizeof collectives;
  CHECK(tare_comm_from_callbacks(&comm, &collectives, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(std::string(error.message) == "collectives: all_reduce is NULL");
  CHECK(tare_comm_from_callbacks(&comm, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_comm_from_callbacks(nullptr, &collectives, &error) == TARE_E_INVALID_ARGUMENT);
  tare_comm_destroy(nullptr);
}

TEST_CASE("a configuration of MPI's ranks that cannot be right is refused, and the keys are named") {
  tare_comm* comm = nullptr;
  tare_error error = TARE_ERROR_INIT;
  for (const char* config : {R"({"communicator":"world"})", R"({"communicator":4294967296})",
                             R"({"timeout_seconds":0})", R"({"timeout_seconds":-1})", R"({"timeout":1})", "[]", "{"}) {
    INFO(config);
    CHECK(tare_comm_from_mpi(&comm, config, &error) == TARE_E_INVALID_ARGUMENT);
    CHECK(comm == nullptr);
  }
  CHECK(tare_comm_from_mpi(&comm, R"({"timeout":1})", &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(std::string(error.message).find("communicator (MPI_Comm_c2f's number), timeout_seconds") != std::string::npos);
  CHECK(tare_comm_from_mpi(nullptr, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
}

TEST_CASE("MPI that nobody started, or that is not there, is told and not started") {
  tare_comm* comm = nullptr;
  tare_error error = TARE_ERROR_INIT;
  const int32_t status = tare_comm_from_mpi(&comm, nullptr, &error);
  INFO(error.message);
  CHECK((status == TARE_E_REFUSED || status == TARE_E_UNSUPPORTED));
  CHECK(comm == nullptr);
}
