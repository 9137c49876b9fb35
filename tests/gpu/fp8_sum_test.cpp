// Gradients on a GPU that ranks sum in fp8, by functions of a caller: ranks are threads, on one GPU.
#include "tests/gpu/fp8_sum.hpp"

#include "lib/base/error.hpp"

using namespace tare;
using namespace tare::kernels::test;
using kernels::Tensor;

TEST_CASE("gradients of ranks on a GPU become in fp8 what they become on the CPU, to the bit, and mu follows") {
  const std::size_t ranks = GENERATE(1u, 2u, 3u, 8u);
  const std::string policy = GENERATE("fp8_lm", "fp8_static");
  const char* options = GENERATE(R"({})", R"({"operation":"sum","bucket_bytes":700})");
  RankThreads on_gpu(ranks, true);
  const std::size_t steps = sample() == 1 ? 9 : 2;
  CHECK(differences_of_sums(ranks, policy, options, steps,
                            [&](std::size_t rank) { return on_gpu.communicator(rank); }) == 0);
}

TEST_CASE("gradients of ranks on a GPU, large and small are summed and counted to the bit in both formats") {
  constexpr std::size_t ranks = 2;
  // More than a piece, and less; shares are alike on both, and so is what each rank counts.
  constexpr std::uint64_t counts[] = {35008, 35008, 304, 304};
  constexpr std::uint32_t slots[] = {0, 1, 2, 1};
  RankThreads on_gpu(ranks, true);
  RankThreads on_host(ranks, false);
  std::vector<std::size_t> different(ranks);
  on_ranks(ranks, [&](std::size_t rank) {
    SumRank own("fp8_lm", rank);
    own.host->set_communicator(on_host.communicator(rank));
    own.device->set_communicator(on_gpu.communicator(rank));
    std::vector<Array> arrays;  // a rank's share has one of the large ones whole
    for (const std::uint64_t count : counts) arrays.emplace_back(Dtype::bf16, count);
    for (Array& array : arrays) {
      fill(array, own.random, false);
      const std::uint64_t one = encode(Dtype::bf16, 1.0);  // a sum of which is beyond the largest
      for (std::uint64_t i = 0; i < array.count(); i += 100) array.set(i, one);
    }
    const GpuArrays copies(arrays);
    std::vector<Tensor> host;
    for (Array& array : arrays) host.push_back(array.tensor());
    own.device->all_reduce(copies.tensors(), slots, {}, own.stream);
    own.host->all_reduce(host, slots, {}, nullptr);
    own.stream.wait();
    different[rank] = copies.different_from(arrays);
    const std::string noted = state_to_json(own.device->save(own.stream));  // before an update takes it
    different[rank] += noted == state_to_json(own.host->save(nullptr)) ? 0 : 1;
    own.device->update(own.stream);
    own.host->update(nullptr);
    const std::string state = state_to_json(own.device->save(own.stream));
    different[rank] += state == state_to_json(own.host->save(nullptr)) ? 0 : 1;
  });
  CHECK(different == std::vector<std::size_t>(ranks));
}

TEST_CASE("ranks with other gradients on a GPU, or another mu, are all told, and nothing has changed") {
  constexpr std::size_t ranks = 3;
  const std::string what = GENERATE("a tensor more", "another count", "an option", "another mu");
  RankThreads on_gpu(ranks, true);
  std::vector<std::string> told(ranks);
  std::vector<std::size_t> changed(ranks);
  on_ranks(ranks, [&](std::size_t rank) {
    SumRank own("fp8_lm", rank);
    own.device->set_communicator(on_gpu.communicator(rank));
    SumLists lists(what == "another count" && rank == 1 ? 1 : 0);
    lists.fill_anew(own.random, 0);
    std::vector<Tensor> tensors = lists.on_gpu->tensors();
    if (what == "a tensor more" && rank == 1) tensors.pop_back();
    if (what == "another mu" && rank == 1) {
      own.host->observe(lists.host(), SumLists::slots, nullptr);
      own.host->update(nullptr);
      own.device->load(own.host->save(nullptr), own.stream);
    }
    const char* options = what == "an option" && rank == 1 ? R"({"operation":"sum"})" : nullptr;
    try {
      own.device->all_reduce(tensors, SumLists::slots, parse_all_reduce_options(options), own.stream);
    } catch (const Error& error) {
      told[rank] = error.status == Status::mismatch ? error.what() : "another status";
    }
    own.stream.wait();
    changed[rank] = lists.on_gpu->different_from(lists.arrays);
  });
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    INFO(told[rank]);
    const bool counts = told[rank].find("the ranks of the comm give from 6 to 7 gradients") != std::string::npos;
    const bool others = told[rank].find("differ in counts, dtypes, formats, options or mu") != std::string::npos;
    CHECK((what == "a tensor more" ? counts : others));
    CHECK(changed[rank] == 0);
  }
}

TEST_CASE("slots on a GPU go by what all ranks saw, by functions that know 64-bit words and doubles alone") {
  const std::string policy = GENERATE("transformer_engine", "msamp", "fp8_lm");
  constexpr std::size_t ranks = 3;
  RankThreads on_gpu(ranks, true);
  RankThreads on_host(ranks, false);
  std::vector<std::size_t> different(ranks);
  on_ranks(ranks, [&](std::size_t rank) {
    SumRank own(policy, rank);
    own.host->set_communicator(on_host.communicator(rank));
    own.device->set_communicator(on_gpu.communicator(rank));
    SumLists lists(rank);  // of other counts than the other ranks'
    for (std::size_t step = 0; step < 5; ++step) {
      lists.fill_anew(own.random, step);
      own.device->observe(lists.on_gpu->tensors(), SumLists::slots, own.stream);
      own.host->observe(lists.host(), SumLists::slots, nullptr);
      own.device->update(own.stream);
      own.host->update(nullptr);
      const std::string state = state_to_json(own.device->save(own.stream));
      different[rank] += state == state_to_json(own.host->save(nullptr)) ? 0 : 1;
    }
  });
  CHECK(different == std::vector<std::size_t>(ranks));
}
