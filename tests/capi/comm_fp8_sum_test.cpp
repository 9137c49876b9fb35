// tare_fp8_all_reduce: what every rank gets is what the formats say of the gradients of all, to the bit.
#include <functional>
#include <thread>

#include "tests/capi/exchange.hpp"
#include "tests/capi/fp8_ranks.hpp"
#include "tests/capi/fp8_sums.hpp"
#include "tests/capi/ranks.hpp"
#include "tests/catch.hpp"

using namespace tare::test;

namespace {

struct SumGroup {
  SumGroup(std::size_t ranks, const std::string& policy, bool exchanges = true) : exchange(ranks) {
    for (std::size_t rank = 0; rank < ranks; ++rank) all.push_back(std::make_unique<SumSlots>(policy));
    on_ranks(ranks, [&](std::size_t rank) {
      tare_comm* comm = exchange.comm(rank, exchanges);
      tare_fp8_set_comm(all[rank]->get(), comm, nullptr);
      tare_comm_destroy(comm);
    });
  }
  std::vector<int32_t> each(const std::function<int32_t(std::size_t rank)>& call) {
    std::vector<int32_t> statuses(all.size());
    on_ranks(all.size(), [&](std::size_t rank) { statuses[rank] = call(rank); });
    return statuses;
  }

  Exchange exchange;
  std::vector<std::unique_ptr<SumSlots>> all;
};

}  // namespace

TEST_CASE("means of gradients in fp8 are what the formats say, to the bit, and mu follows the sums") {
  const std::size_t ranks = GENERATE(1u, 2u, 3u, 8u);
  const std::string policy = GENERATE("fp8_lm", "fp8_static");
  SumGroup group(ranks, policy);
  const std::vector<int32_t> wrong = group.each([&](std::size_t rank) {
    int32_t different = 0;
    for (std::size_t step = 0; step < 30; ++step) different += group.all[rank]->step(step, rank, ranks) ? 0 : 1;
    return different;
  });
  CHECK(wrong == std::vector<int32_t>(ranks, 0));
  if (policy != "fp8_lm") return;
  CHECK(group.all[0]->least_mu < 0.8);
  for (const auto& slots : group.all) CHECK(state_of(slots->get()) == state_of(group.all[0]->get()));
}

TEST_CASE("a value goes over the wire as one byte, twice") {
  SumGroup group(4, "fp8_static");
  group.each([&](std::size_t rank) { return group.all[rank]->all_reduce(InMemory(gradients_of(1, rank))); });
  constexpr std::size_t values = 1000 + 37 + 4500 + 1;
  constexpr std::size_t share = (values + 3) / 4;
  CHECK(group.exchange.bytes_sent() == 2 * 3 * share + 3 * 8);  // and once, its number to each
}

TEST_CASE("smaller buckets are more exchanges of as many bytes, and the same bits") {
  const char* options = GENERATE(R"({"bucket_bytes":1000})", R"({"bucket_bytes":7})", R"({"bucket_bytes":1073741824})");
  SumGroup group(3, "fp8_lm");
  std::vector<std::vector<Gradient>> of_rank;
  for (std::size_t rank = 0; rank < 3; ++rank) of_rank.push_back(gradients_of(3, rank));
  std::vector<Gradient> means;
  SumSlot slots[] = {{e4m3, 1}, {e5m2, 1}, {e4m3, 1}};
  for (std::size_t k = 0; k < tensors_of_step; ++k) {
    means.push_back(mean_of({of_rank[0][k], of_rank[1][k], of_rank[2][k]}, slots[SumSlots::slots_of[k]]));
  }
  const std::vector<int32_t> wrong = group.each([&](std::size_t rank) {
    const InMemory own(of_rank[rank]);
    const int32_t status = tare_fp8_all_reduce(group.all[rank]->get(), own.tensors().data(), SumSlots::slots_of,
                                               own.tensors().size(), options, nullptr, nullptr);
    return status != TARE_OK ? status : own.is(means) ? 0 : -1;
  });
  CHECK(wrong == std::vector<int32_t>(3, 0));
}

TEST_CASE("a sum is the mean times the ranks, but for the last rounding") {
  SumGroup group(2, "fp8_static");
  std::vector<std::vector<float>> values{{1, 2, -4}, {1, 2, 0}};
  const std::vector<int32_t> statuses = group.each([&](std::size_t rank) {
    const tare_tensor tensor{values[rank].data(), 3, TARE_F32, 0};
    return tare_fp8_all_reduce(group.all[rank]->get(), &tensor, nullptr, 1, R"({"operation":"sum"})", nullptr, nullptr);
  });
  CHECK(statuses == std::vector<int32_t>(2, TARE_OK));
  for (const std::vector<float>& of_rank : values) {
    CHECK(of_rank[0] == Approx(2).epsilon(0.07));
    CHECK(of_rank[1] == Approx(4).epsilon(0.07));
    CHECK(of_rank[2] == Approx(-4).epsilon(0.07));
  }
}

TEST_CASE("ranks with other lists, dtypes or mu are all told, and nothing has changed") {
  SumGroup group(2, "fp8_lm");
  std::string expected;
  std::vector<Gradient> lists[2] = {gradients_of(1, 0), gradients_of(1, 1)};
  SECTION("a tensor more") {
    expected = "the ranks of the comm give from 3 to 4 gradients, ";
    lists[1].pop_back();
  }
  SECTION("another dtype") {
    expected = "the gradients of the comm's ranks differ in counts, dtypes, formats, options or mu";
    lists[1][1].dtype = TARE_BF16;
  }
  SECTION("a shorter tensor") {
    expected = "the gradients of the comm's ranks differ in counts, dtypes, formats, options or mu";
    lists[1][2].codes.pop_back();
  }
  SECTION("another mu") {
    expected = "the gradients of the comm's ranks differ in counts, dtypes, formats, options or mu";
    tare_state* state = nullptr;
    REQUIRE(tare_fp8_save(&state, group.all[1]->get(), nullptr, nullptr) == TARE_OK);
    tare_fp8* one = nullptr;  // alone, so that its step asks nobody
    REQUIRE(tare_fp8_create_from_state(&one, state, nullptr, nullptr) == TARE_OK);
    float value = 1;
    const tare_tensor tensor{&value, 1, TARE_F32, 0};
    tare_fp8_observe(one, &tensor, nullptr, 1, nullptr, nullptr);
    tare_fp8_update(one, nullptr, nullptr);
    tare_state* moved = nullptr;
    REQUIRE(tare_fp8_save(&moved, one, nullptr, nullptr) == TARE_OK);
    REQUIRE(tare_fp8_load(group.all[1]->get(), moved, nullptr, nullptr) == TARE_OK);
    tare_state_destroy(moved);
    tare_state_destroy(state);
    tare_fp8_destroy(one);
  }
  const InMemory values[2] = {InMemory(lists[0]), InMemory(lists[1])};
  std::vector<tare_error> errors(2, tare_error TARE_ERROR_INIT);
  CHECK(group.each([&](std::size_t rank) { return group.all[rank]->all_reduce(values[rank], &errors[rank]); }) ==
        std::vector<int32_t>(2, TARE_E_MISMATCH));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    CHECK(std::string(errors[rank].message).starts_with(expected));
    CHECK(values[rank].is(lists[rank]));
  }
}

TEST_CASE("a rank that leaves out a sum, and updates, is told, and so is who sums") {
  Exchange exchange(2);
  tare_fp8* slots[2] = {};
  std::string before[2];
  const std::vector<Gradient> list = gradients_of(1, 0);
  const InMemory values(list);
  int32_t statuses[2] = {};
  tare_error errors[2] = {TARE_ERROR_INIT, TARE_ERROR_INIT};
  on_ranks(2, [&](std::size_t rank) {
    tare_fp8_create(&slots[rank], R"({"policy":"fp8_lm","slots":4,"format":"e4m3"})", nullptr);
    tare_comm* comm = exchange.comm(rank);
    tare_fp8_set_comm(slots[rank], comm, nullptr);
    tare_comm_destroy(comm);
    before[rank] = state_of(slots[rank]);
    statuses[rank] = rank == 0 ? tare_fp8_update(slots[rank], nullptr, &errors[rank])
                               : tare_fp8_all_reduce(slots[rank], values.tensors().data(), nullptr, tensors_of_step,
                                                     nullptr, nullptr, &errors[rank]);
  });
  for (std::size_t rank = 0; rank < 2; ++rank) {
    CHECK(statuses[rank] == TARE_E_MISMATCH);
    CHECK(std::string(errors[rank].message).starts_with("the ranks of the comm are not in the same call"));
    CHECK(state_of(slots[rank]) == before[rank]);
    tare_fp8_destroy(slots[rank]);
  }
  CHECK(values.is(list));
}

TEST_CASE("ranks that ask for a mean and for a sum are both told") {
  SumGroup group(2, "fp8_static");
  const std::vector<Gradient> list = gradients_of(1, 0);
  const InMemory values[2] = {InMemory(list), InMemory(list)};
  CHECK(group.each([&](std::size_t rank) {
    return tare_fp8_all_reduce(group.all[rank]->get(), values[rank].tensors().data(), SumSlots::slots_of,
                               tensors_of_step, rank == 0 ? nullptr : R"({"operation":"sum"})", nullptr, nullptr);
  }) == std::vector<int32_t>(2, TARE_E_MISMATCH));
  CHECK(values[0].is(list));
}

TEST_CASE("an engine that fails in the exchange is told with its number, and slots stay as they were") {
  SumGroup group(2, "fp8_lm");
  const auto reduce = [&](std::size_t rank, tare_error* error) {
    return group.all[rank]->all_reduce(InMemory(gradients_of(1, rank)), error);
  };
  CHECK(group.each([&](std::size_t rank) { return reduce(rank, nullptr); }) == std::vector<int32_t>(2, TARE_OK));
  const std::string before = state_of(group.all[0]->get());
  group.exchange.fail();
  std::vector<tare_error> errors(2, tare_error TARE_ERROR_INIT);
  CHECK(group.each([&](std::size_t rank) { return reduce(rank, &errors[rank]); }) ==
        std::vector<int32_t>(2, TARE_E_BACKEND));
  CHECK(errors[0].detail == Exchange::failure);
  CHECK(std::string(errors[0].message).starts_with("all_to_all of the comm's callbacks returned 78"));
  CHECK(state_of(group.all[0]->get()) == before);
}

TEST_CASE("gradients are not summed without a comm, without an exchange of bytes, or as something else") {
  tare_error error = TARE_ERROR_INIT;
  const SumSlots alone("fp8_lm");
  const InMemory values(gradients_of(1, 0));
  CHECK(alone.all_reduce(values, &error) == TARE_E_REFUSED);
  const SumGroup group(1, "fp8_lm", false);
  CHECK(group.all[0]->all_reduce(values, &error) == TARE_E_UNSUPPORTED);
  CHECK(std::string(error.message).starts_with("the comm's callbacks have no all_to_all"));
  const SumGroup whole(1, "fp8_lm");
  double wide = 1;
  const tare_tensor tensor{&wide, 1, TARE_F64, 0};
  CHECK(tare_fp8_all_reduce(whole.all[0]->get(), &tensor, nullptr, 1, nullptr, nullptr, &error) == TARE_E_UNSUPPORTED);
  CHECK(std::string(error.message).starts_with("gradient 0 is f64"));
  CHECK(tare_fp8_all_reduce(whole.all[0]->get(), nullptr, nullptr, 0, R"({"operation":"product"})", nullptr, &error) ==
        TARE_E_INVALID_ARGUMENT);
  for (const char* options : {R"({"adder":"nobody"})", R"({"bucket_bytes":0})", R"({"bucket_bytes":1073741825})",
                              R"({"bucket_bytes":"1"})", R"({"other":1})", "[]", "{"}) {
    CHECK(tare_fp8_all_reduce(whole.all[0]->get(), nullptr, nullptr, 0, options, nullptr, &error) ==
          TARE_E_INVALID_ARGUMENT);
  }
  CHECK(tare_fp8_all_reduce(whole.all[0]->get(), nullptr, nullptr, 0, R"({"adder":"engine"})", nullptr, &error) ==
        TARE_E_UNSUPPORTED);
  CHECK(std::string(error.message).starts_with("the comm's callbacks have no sum of fp8"));
  CHECK(tare_fp8_all_reduce(nullptr, nullptr, nullptr, 0, nullptr, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_fp8_all_reduce(whole.all[0]->get(), nullptr, nullptr, 0, nullptr, nullptr, &error) == TARE_OK);
}
