// tare_fp8_set_comm: slots of ranks are as those of one process that saw the values of all.
#include <functional>

#include "tests/capi/fp8_ranks.hpp"
#include "tests/capi/ranks.hpp"
#include "tests/catch.hpp"

using namespace tare::test;

namespace {

constexpr std::size_t ranks = 3;

struct Group {
  Meeting meeting{ranks};
  tare_comm* comm = meeting.comm();
  std::vector<std::unique_ptr<SlotsOfRank>> all;
  std::vector<tare_error> errors = std::vector<tare_error>(ranks, tare_error TARE_ERROR_INIT);

  ~Group() { tare_comm_destroy(comm); }

  /// What each rank was told.
  std::vector<int32_t> each(const std::function<int32_t(std::size_t rank)>& call) {
    std::vector<int32_t> statuses(ranks);
    on_ranks(ranks, [&](std::size_t rank) { statuses[rank] = call(rank); });
    return statuses;
  }
  std::vector<int32_t> join(const std::vector<std::string>& policies) {
    for (const std::string& policy : policies) all.push_back(std::make_unique<SlotsOfRank>(policy));
    return each([&](std::size_t rank) { return tare_fp8_set_comm(all[rank]->get(), comm, &errors[rank]); });
  }
};

const std::vector<int32_t> all_well(ranks, TARE_OK);

}  // namespace

TEST_CASE("random steps of FP8 slots of three ranks are those of one process that saw all values") {
  constexpr std::size_t steps = 1000;
  for (const char* policy : fp8_policies) {
    INFO(policy);
    Group group;
    REQUIRE(group.join(std::vector<std::string>(ranks, policy)) == all_well);
    SlotsOfRank alone(policy);
    RandomValues random;
    std::vector<std::vector<RankValues>> values;
    std::vector<std::string> expected;
    for (std::size_t i = 0; i < steps; ++i) {
      values.push_back(random.next(ranks));
      for (const RankValues& of_rank : values.back()) alone.look_at(of_rank);
      alone.update();
      expected.push_back(alone.told());
    }
    const std::vector<int32_t> different = group.each([&](std::size_t rank) {
      int32_t count = 0;
      for (std::size_t i = 0; i < steps; ++i) {
        group.all[rank]->look_at(values[i][rank]);
        count += group.all[rank]->update() != TARE_OK || group.all[rank]->told() != expected[i] ? 1 : 0;
      }
      return count;
    });
    CHECK(different == std::vector<int32_t>(ranks, 0));
    CHECK(expected[steps / 2] != expected[steps - 1]);
  }
}

TEST_CASE_METHOD(Group, "ranks with other FP8 slots are all told, and stay alone") {
  const std::string policy = R"("policy":"transformer_engine","margin":0)";
  CHECK(join({policy, policy, R"("policy":"transformer_engine","margin":1)"}) ==
        std::vector<int32_t>(ranks, TARE_E_MISMATCH));
  CHECK(std::string(errors[0].message)
            .starts_with("the slots of the comm's ranks differ in policy, parameters, names or formats\n"));
  CHECK(all[0]->update() == TARE_OK);  // waits for nobody
}

TEST_CASE("ranks with more FP8 slots than others are all told how many there are") {
  Meeting meeting(2);
  tare_comm* comm = meeting.comm();
  tare_error errors[2] = {TARE_ERROR_INIT, TARE_ERROR_INIT};
  int32_t statuses[2] = {};
  on_ranks(2, [&](std::size_t rank) {
    tare_fp8* fp8 = nullptr;
    tare_fp8_create(&fp8, rank == 0 ? R"({"policy":"msamp","slots":2})" : R"({"policy":"msamp","slots":7})", nullptr);
    statuses[rank] = tare_fp8_set_comm(fp8, comm, &errors[rank]);
    tare_fp8_destroy(fp8);
  });
  CHECK((statuses[0] == TARE_E_MISMATCH && statuses[1] == TARE_E_MISMATCH));
  CHECK(std::string(errors[0].message).starts_with("the ranks of the comm have from 2 to 7 slots, 2 here\n"));
  tare_comm_destroy(comm);
}

TEST_CASE_METHOD(Group, "an FP8 update without a rank is the engine's error, and the slots as they were") {
  REQUIRE(join(std::vector<std::string>(ranks, R"("policy":"fp8_lm")")) == all_well);
  all[0]->look_at(RandomValues().next(1)[0]);
  const std::string before = all[0]->told();
  std::thread other([&] { meeting.leave(); });
  CHECK(all[0]->update(&errors[0]) == TARE_E_BACKEND);
  other.join();
  CHECK(errors[0].detail == Meeting::somebody_left);
  CHECK(all[0]->told() == before);
  CHECK(tare_fp8_set_comm(all[0]->get(), nullptr, nullptr) == TARE_OK);
  CHECK(all[0]->update() == TARE_OK);
}

TEST_CASE("slots of ranks that start from other histories are alike once these are over") {
  for (const char* policy : fp8_policies) {
    if (std::string(policy).find("fp8_lm") != std::string::npos) continue;  // it has no history
    INFO(policy);
    Group group;
    RandomValues random;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      group.all.push_back(std::make_unique<SlotsOfRank>(policy));
      for (std::size_t i = 0; i < 2 * rank; ++i) {
        group.all[rank]->look_at(random.next(1)[0]);
        group.all[rank]->update();
      }
    }
    REQUIRE(group.join({}) == all_well);
    CHECK(group.all[0]->told() != group.all[2]->told());
    std::vector<std::vector<RankValues>> values;
    for (std::size_t i = 0; i < 12; ++i) values.push_back(random.next(ranks));
    group.each([&](std::size_t rank) {
      for (const auto& step : values) {
        group.all[rank]->look_at(step[rank]);
        group.all[rank]->update();
      }
      return 0;
    });
    std::vector<std::vector<float>> scales;
    for (const auto& slots : group.all) {
      const float* first = nullptr;
      REQUIRE(tare_fp8_scale_pointer(&first, slots->get(), TARE_FP8_SCALE, nullptr) == TARE_OK);
      scales.emplace_back(first, first + 3);
    }
    CHECK(scales == std::vector<std::vector<float>>(ranks, scales[0]));
    CHECK(scales[0] != std::vector<float>(3, 1.0f));
  }
}

TEST_CASE_METHOD(Group, "a comm for FP8 slots is asked for by its name") {
  SlotsOfRank one(fp8_policies[0]);
  CHECK(tare_fp8_set_comm(nullptr, comm, &errors[0]) == TARE_E_INVALID_ARGUMENT);
  CHECK(std::string(errors[0].message) == "fp8 is NULL");
  CHECK(tare_fp8_set_comm(one.get(), reinterpret_cast<tare_comm*>(one.get()), &errors[0]) == TARE_E_INVALID_ARGUMENT);
  CHECK(std::string(errors[0].message).starts_with("comm is a handle of another kind"));
}
