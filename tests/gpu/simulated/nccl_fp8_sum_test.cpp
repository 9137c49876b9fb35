// Gradients on a GPU that ranks sum in fp8 by NCCL: a stand-in for it that checks what it is asked for.
#include "lib/collective/nccl_communicator.hpp"

#include "kernels/element.hpp"
#include "lib/base/error.hpp"
#include "tests/gpu/fp8_sum.hpp"
#include "tests/gpu/graph.hpp"
#include "tests/gpu/simulated/faults.hpp"
#include "tests/gpu/simulated/stand_in_nccl.hpp"

using namespace tare;
using namespace tare::kernels::test;
using kernels::Tensor;

namespace {

constexpr std::size_t values_of_rank = 100;

/// Ranks with one gradient each, all of 1 but the first.
struct Group {
  explicit Group(std::size_t ranks, const std::string& policy = "fp8_static") : nccl(ranks), streams(ranks) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      slots.push_back(make_fp8_scaler(parse_fp8_config(sum_slots_on("cuda:0", policy).c_str())));
      values.push_back(std::make_unique<GpuBytes>(values_of_rank * sizeof(float)));
      fill(rank, static_cast<float>(rank + 1));
    }
    on_ranks(ranks, [&](std::size_t rank) { slots[rank]->set_communicator(communicator_of_nccl(nccl.comm(rank))); });
    nccl.take_calls();
  }
  void fill(std::size_t rank, float first) {
    streams[rank].wait();
    std::vector<float> all(values_of_rank, 1.0f);
    all[0] = first;
    upload(values[rank]->data(), all.data(), all.size() * sizeof(float));
  }
  Tensor tensor(std::size_t rank) const { return {values[rank]->data(), values_of_rank, Dtype::f32, 0}; }
  void all_reduce(std::size_t rank, const char* options = nullptr) {
    const Tensor one = tensor(rank);
    slots[rank]->all_reduce({&one, 1}, nullptr, parse_all_reduce_options(options), streams[rank]);
  }
  /// On all ranks at once; what each was told.
  std::vector<Status> each(const std::function<void(std::size_t rank)>& call) {
    std::vector<Status> told(slots.size(), Status::ok);
    on_ranks(slots.size(), [&](std::size_t rank) {
      try {
        call(rank);
      } catch (const Error& error) {
        told[rank] = error.status;
      }
    });
    return told;
  }
  std::vector<float> of(std::size_t rank) const {
    std::vector<float> all(values_of_rank);
    streams[rank].wait();
    must(cudaMemcpy(all.data(), values[rank]->data(), all.size() * sizeof(float), cudaMemcpyDeviceToHost));
    return all;
  }

  NcclRanks nccl;
  std::vector<GpuStream> streams;
  std::vector<std::unique_ptr<Fp8Scaler>> slots;
  std::vector<std::unique_ptr<GpuBytes>> values;
};

const std::vector<Status> both_well(2, Status::ok);

}  // namespace

TEST_CASE("gradients that NCCL carries become in fp8 what they become on the CPU, to the bit, and mu follows") {
  const std::size_t ranks = GENERATE(1u, 2u, 3u, 8u);
  const std::string policy = GENERATE("fp8_lm", "fp8_static");
  NcclRanks nccl(ranks);
  const std::size_t steps = sample() == 1 ? 9 : 2;
  CHECK(differences_of_sums(ranks, policy, R"({"bucket_bytes":3000})", steps,
                            [&](std::size_t rank) { return communicator_of_nccl(nccl.comm(rank)); }) == 0);
  CHECK(open_nccl_groups() == 0);
}

TEST_CASE("a sum in fp8 is two small reductions, an exchange and a gathering on its own stream, a byte a value each") {
  Group group(2);
  CHECK(group.each([&](std::size_t rank) { group.all_reduce(rank); }) == both_well);
  for (std::size_t rank = 0; rank < 2; ++rank) group.of(rank);
  group.nccl.take_calls();
  const std::size_t met = group.nccl.met();
  for (std::size_t rank = 0; rank < 2; ++rank) group.all_reduce(rank);  // one after another: nobody waits
  CHECK(group.nccl.met() == met);
  const std::vector<NcclCall> calls = group.nccl.take_calls();
  REQUIRE(calls.size() == 8);
  constexpr std::size_t share = 64;  // 50 values, in rows of 16
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const NcclCall* const own = calls.data() + 4 * rank;
    const cudaStream_t stream = group.streams[rank];
    CHECK(own[0] == NcclCall{rank, 4, 5, 2, stream, own[0].group});
    CHECK(own[1] == NcclCall{rank, 1, 5, 2, stream, own[1].group});
    CHECK(own[2] == NcclCall{rank, share, 1, exchanged, stream, own[2].group});
    CHECK(own[3] == NcclCall{rank, share, 1, gathered, stream, own[3].group});
    for (int i = 0; i < 4; ++i) CHECK(own[i].group > 0);
  }
  group.of(0);
  CHECK(group.nccl.met() == met + 4);
}

TEST_CASE("a sum in fp8 that is captured is, replayed, that of what the gradients are then") {
  Group group(2);
  CHECK(group.each([&](std::size_t rank) { group.all_reduce(rank); }) == both_well);
  std::vector<std::unique_ptr<Graph>> graphs;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    graphs.push_back(std::make_unique<Graph>(group.streams[rank], [&] { group.all_reduce(rank); }));
  }
  std::vector<float> firsts;
  for (const float first : {3.0f, 200.0f, 0.125f}) {
    std::vector<float> expected;
    for (const bool replays : {false, true}) {
      for (std::size_t rank = 0; rank < 2; ++rank) group.fill(rank, rank == 0 ? first : 0.5f);
      for (std::size_t rank = 0; rank < 2; ++rank) {
        if (replays) graphs[rank]->replay(group.streams[rank]);
        if (!replays) group.all_reduce(rank);
      }
      if (!replays) expected = group.of(1);
    }
    CHECK(group.of(0) == expected);
    CHECK(group.of(1) == expected);
    firsts.push_back(expected[0]);
  }
  CHECK(firsts[0] == Approx(1.75).epsilon(0.07));
  CHECK(firsts[1] == Approx(100.25).epsilon(0.07));
}

TEST_CASE("a list that was not summed before is not captured: what it is compared with would have to be waited for") {
  const Group group(1);
  std::string told;
  const Tensor one = group.tensor(0);
  const Graph graph(group.streams[0], [&] {
    try {
      group.slots[0]->all_reduce({&one, 1}, nullptr, {}, group.streams[0]);
    } catch (const Error& error) {
      told = error.what();
    }
  });
  CHECK(told.find("cannot be made while that stream is captured") != std::string::npos);
}

TEST_CASE("a rank that comes with another list than the last one is told, where the others do not wait") {
  Group group(2);
  CHECK(group.each([&](std::size_t rank) { group.all_reduce(rank); }) == both_well);
  const std::vector<Status> told = group.each([&](std::size_t rank) {
    if (rank == 0) return group.all_reduce(rank);
    const Tensor shorter{group.values[rank]->data(), 50, Dtype::f32, 0};
    group.slots[rank]->all_reduce({&shorter, 1}, nullptr, {}, group.streams[rank]);
  });
  CHECK(told == std::vector<Status>{Status::ok, Status::mismatch});
  group.nccl.abort();  // or rank 0 waited for ever
}

TEST_CASE("NCCL may add the fp8 itself: each addition rounds, and no bytes are exchanged") {
  Group group(3, "fp8_lm");
  const char* options = R"({"adder":"engine","operation":"sum"})";
  const std::vector<Status> well(3, Status::ok);
  CHECK(group.each([&](std::size_t rank) { group.all_reduce(rank, options); }) == well);
  bool is_sum = false;
  for (const NcclCall& call : group.nccl.take_calls()) {
    is_sum = is_sum || (call.type == 10 && call.operation == 0 && call.count == values_of_rank);
    CHECK(call.operation != gathered);
  }
  CHECK(is_sum);
  const float up = 448.0f / 3.0f;  // the greatest is 3, mu is 1
  const auto fp8 = [](float value) { return widen<F8E4m3fn>(kernels::cuda::saturated<F8E4m3fn>(value)); };
  const float ones = fp8(fp8(fp8(up) + fp8(up)) + fp8(up));
  const float firsts = fp8(fp8(fp8(up) + fp8(2 * up)) + fp8(3 * up));
  for (std::size_t rank = 0; rank < 3; ++rank) {
    CHECK(group.of(rank)[0] == firsts * static_cast<float>(1 / static_cast<double>(up)));
    CHECK(group.of(rank)[50] == ones * static_cast<float>(1 / static_cast<double>(up)));
    group.slots[rank]->update(group.streams[rank]);
  }
  CHECK(firsts == 448);  // so that sums reach the largest, and mu is halved
  const std::string state = state_to_json(group.slots[0]->save(group.streams[0]));
  CHECK(state.find("0.5") != std::string::npos);
  CHECK(state_to_json(group.slots[2]->save(group.streams[2])) == state);
}

TEST_CASE("a gradient that is not finite is so on every rank, whoever adds") {
  const char* options = GENERATE(R"({"adder":"engine"})", R"({"adder":"ranks"})");
  Group group(2, "fp8_lm");
  group.fill(1, __builtin_inff());
  CHECK(group.each([&](std::size_t rank) { group.all_reduce(rank, options); }) == both_well);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    for (const float value : group.of(rank)) CHECK(std::isnan(value));
  }
}

TEST_CASE("an NCCL, a GPU or an engine that does not add fp8 is refused with a sentence") {
  Group group(1);
  const auto told = [&] {
    try {
      group.all_reduce(0, R"({"adder":"engine"})");
    } catch (const Error& error) {
      return std::string(error.status == Status::unsupported ? error.what() : "another status");
    }
    return std::string("nothing");
  };
  say_nccl_version(22304);
  CHECK(told().find("the NCCL of this process is 2.23.4, which has no sum of fp8") != std::string::npos);
  say_nccl_version(22400);
  say_capability(8);
  CHECK(told().find("cuda:0 is of compute capability 8.0, and fp8 is added by NCCL from 9.0 on") != std::string::npos);
  say_capability(9);
  CHECK(told() == "nothing");
  say_nccl_version(22809);
  RankThreads threads(1, true);
  group.slots[0]->set_communicator(threads.communicator(0));
  CHECK(told().find("the comm's callbacks have no sum of fp8") != std::string::npos);
}

TEST_CASE("what NCCL refuses in a sum is told with its number, its groups are closed, and slots stay as they were") {
  Group group(1, "fp8_lm");
  group.all_reduce(0);
  const std::string before = state_to_json(group.slots[0]->save(group.streams[0]));
  group.nccl.fail(0, 6);
  try {
    group.all_reduce(0);
    FAIL("summed");
  } catch (const Error& error) {
    CHECK(error.status == Status::backend);
    CHECK(error.detail == 6);
  }
  group.nccl.fail(0, 0);
  CHECK(open_nccl_groups() == 0);
  CHECK(state_to_json(group.slots[0]->save(group.streams[0])) == before);
  group.all_reduce(0);
}

TEST_CASE("one gradient in place of another, of the same shape, is summed without a wait") {
  Group group(1);
  group.all_reduce(0);
  const GpuBytes elsewhere(values_of_rank * sizeof(float));
  std::vector<float> sevens(values_of_rank, 7.0f);
  upload(elsewhere.data(), sevens.data(), sevens.size() * sizeof(float));
  const std::size_t met = group.nccl.met();
  const Tensor moved{elsewhere.data(), values_of_rank, Dtype::f32, 0};
  group.slots[0]->all_reduce({&moved, 1}, nullptr, {}, group.streams[0]);
  CHECK(group.nccl.met() == met);
  group.streams[0].wait();
  must(cudaMemcpy(sevens.data(), elsewhere.data(), sevens.size() * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(sevens[3] == Approx(7).epsilon(0.07));
}
