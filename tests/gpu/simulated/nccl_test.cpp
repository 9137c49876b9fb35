// Scalers and slots of many ranks on a GPU, joined by NCCL: a stand-in for it that checks what it is asked for.
#include "lib/collective/nccl_communicator.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <thread>

#include "lib/base/error.hpp"
#include "lib/codec/json.hpp"
#include "lib/scaler/fp8_scaler.hpp"
#include "tests/gpu/graph.hpp"
#include "tests/gpu/simulated/stand_in_nccl.hpp"
#include "tests/status_of.hpp"

using namespace tare;
using namespace tare::kernels::test;
using kernels::Tensor;
using test::status_of;

namespace {

constexpr std::size_t elements = 5;
constexpr auto infinity = std::numeric_limits<float>::infinity();
using Values = std::array<float, elements>;

constexpr auto config_on(const char* device) {
  return std::string(R"({"policy":"torch","initial_scale":65536,"growth_interval":3,"device":")") + device + "\"}";
}

/// A scaler with a list of as many tensors as ranks have one each, and where it is written.
class Trained {
 public:
  Trained(const char* device, std::size_t parts)
      : on_gpu_(std::string(device) != "cpu"),
        bytes_(2 * parts * sizeof(Values)),
        scaler(make_scaler(parse_config(config_on(device).c_str()))),
        values_(on_gpu_ ? reinterpret_cast<float*>(bytes_.data()) : host_.emplace_back(2 * parts * elements).data()),
        parts_(parts) {
    grads = scaler->make_grads(tensors(values_));
  }

  void fill(const std::vector<Values>& values) {
    const std::size_t size = parts_ * sizeof(Values);
    if (on_gpu_) return upload(values_, values.data(), size);
    std::memcpy(values_, values.data(), size);
  }
  std::vector<Tensor> tensors(float* first) const {
    std::vector<Tensor> all;
    for (std::size_t i = 0; i < parts_; ++i) all.push_back({first + i * elements, elements, Dtype::f32, 0});
    return all;
  }
  std::vector<Tensor> outputs() const { return tensors(values_ + parts_ * elements); }
  /// Of `way`, a number below 4.
  void make(int way, bool reported, kernels::Stream stream) {
    if (way == 0) return grads->unscale_and_update(stream);
    if (way == 1) grads->observe(stream);
    if (way == 2) grads->write(outputs(), R"({"clip_norm":0.5})", stream);
    if (way == 3) {
      scaler->unscale(tensors(values_), stream);
      scaler->report_overflow(reported, stream);
    }
    scaler->update(stream);
  }
  /// All that ranks have in common. Waits.
  std::string told(kernels::Stream stream) const {
    const GradsReport list = grads->last_pass(stream);
    return scaler->statistics(stream) + state_to_json(scaler->save(stream)) + std::to_string(list.found_inf) +
           std::to_string(list.total.sum_of_squares) + std::to_string(list.total.count);
  }
  /// Of one part. Waits.
  std::vector<float> written(std::size_t part) const {
    std::vector<float> copy(elements);
    const float* from = values_ + (parts_ + part) * elements;
    if (on_gpu_) {
      must(cudaMemcpy(copy.data(), from, sizeof(Values), cudaMemcpyDeviceToHost));
    } else {
      std::copy_n(from, elements, copy.begin());
    }
    return copy;
  }

 private:
  bool on_gpu_;
  GpuBytes bytes_;
  std::vector<std::vector<float>> host_;

 public:
  std::unique_ptr<LossScaler> scaler;
  std::unique_ptr<Grads> grads;

 private:
  float* values_;
  std::size_t parts_;
};

/// Ranks on a GPU, each with its own stream.
struct World {
  explicit World(std::size_t ranks, Gradients gradients = Gradients::sharded) : nccl(ranks), streams(ranks) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      all.push_back(std::make_unique<Trained>("cuda:0", 1));
      all.back()->scaler->set_communicator(communicator_of_nccl(nccl.comm(rank)), gradients);
    }
  }
  void make(int way, const std::vector<bool>& reported) {
    for (std::size_t rank = 0; rank < all.size(); ++rank) all[rank]->make(way, reported[rank], streams[rank]);
  }

  NcclRanks nccl;
  std::vector<GpuStream> streams;
  std::vector<std::unique_ptr<Trained>> all;
};

struct Step {
  int way = 0;
  std::vector<bool> reported;
  std::vector<Values> values;
};

/// Sums of squares are whole numbers: exact in any order.
Step random_step(std::mt19937& random, std::size_t ranks) {
  Step step{static_cast<int>(random() % 4), std::vector<bool>(ranks), std::vector<Values>(ranks)};
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    step.reported[rank] = random() % (10 * ranks) == 0;
    for (float& value : step.values[rank]) value = static_cast<float>(random() % 17) - 8;
    if (random() % (10 * ranks) == 0) step.values[rank][random() % elements] = random() % 2 == 0 ? infinity : NAN;
  }
  return step;
}

bool same_bits(const std::vector<float>& one, const std::vector<float>& other) {
  return std::memcmp(one.data(), other.data(), one.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("random steps of ranks on a GPU are those of one process that saw all gradients") {
  const std::size_t ranks = GENERATE(1u, 2u, 3u, 8u);
  std::mt19937 random(30);
  World world(ranks);
  Trained alone("cpu", ranks);
  std::size_t different = 0;
  for (std::uint64_t i = 0; i < std::max<std::uint64_t>(1000 / sample(), 20); ++i) {
    const Step step = random_step(random, ranks);
    alone.fill(step.values);
    for (std::size_t rank = 0; rank < ranks; ++rank) world.all[rank]->fill({step.values[rank]});
    world.make(step.way, step.reported);
    alone.make(step.way, std::ranges::any_of(step.reported, std::identity{}), nullptr);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      if (world.all[rank]->told(world.streams[rank]) != alone.told(nullptr)) ++different;
      if (step.way == 2 && !same_bits(world.all[rank]->written(0), alone.written(rank))) ++different;
    }
  }
  CHECK(different == 0);
}

TEST_CASE("a pass is one group of two reductions on its own stream, and the host waits for none") {
  World world(2);
  for (const auto& one : world.all) one->fill({{3, 4, 0, 0, 0}});
  for (std::size_t rank = 0; rank < 2; ++rank) world.all[rank]->grads->unscale_and_update(world.streams[rank]);
  const std::vector<NcclCall> calls = world.nccl.take_calls();
  REQUIRE(calls.size() == 4);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const int group = calls[2 * rank].group;
    CHECK(group > 0);
    CHECK(calls[2 * rank] == NcclCall{rank, 10, 5, 2, world.streams[rank], group});
    CHECK(calls[2 * rank + 1] == NcclCall{rank, 4, 8, 0, world.streams[rank], group});
  }
  CHECK(calls[0].group != calls[2].group);
  CHECK(world.nccl.met() == 0);
  CHECK(world.all[0]->scaler->report(world.streams[0]).counters.steps == 1);
  CHECK(world.nccl.met() == 2);
}

TEST_CASE("a clipped write reduces once, an update and scaling not at all") {
  World world(1);
  world.all[0]->grads->write(world.all[0]->outputs(), R"({"clip_norm":1})", world.streams[0]);
  CHECK(world.nccl.take_calls().size() == 2);
  world.all[0]->scaler->update(world.streams[0]);
  world.all[0]->scaler->scale_up(world.all[0]->outputs(), world.streams[0]);
  CHECK(world.nccl.take_calls().empty());
}

TEST_CASE("replicated gradients on a GPU count once, in one reduction") {
  World world(2, Gradients::replicated);
  for (const auto& one : world.all) one->fill({{3, 4, 0, 0, 0}});
  for (std::size_t rank = 0; rank < 2; ++rank) world.all[rank]->grads->observe(world.streams[rank]);
  const std::vector<NcclCall> calls = world.nccl.take_calls();
  REQUIRE(calls.size() == 2);
  CHECK(calls[0] == NcclCall{0, 14, 5, 2, world.streams[0], calls[0].group});
  const ScalerReport report = world.all[1]->scaler->report(world.streams[1]);
  CHECK(report.accumulated.sum_of_squares == 25);
  CHECK(report.accumulated.count == 5);
  CHECK(report.accumulated.zeros == 3);
}

TEST_CASE("ranks on a GPU whose replicated gradients are not as many are all told, and nothing else is noted") {
  World world(2, Gradients::replicated);
  for (const auto& one : world.all) one->fill({{infinity, 4, 0, 0, 0}});
  Trained& other = *world.all[1];
  const std::string before = state_to_json(other.scaler->save(world.streams[1]));
  std::vector<Tensor> fewer = other.outputs();
  fewer[0].count -= 1;
  const auto list = other.scaler->make_grads(fewer);
  world.all[0]->grads->observe(world.streams[0]);
  list->observe(world.streams[1]);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    CHECK_THROWS_WITH(world.all[rank]->scaler->scale(world.streams[rank]),
                      Catch::Contains("the ranks of the comm are not at the same number of values: from 4 to 5, and"));
  }
  CHECK(state_to_json(other.scaler->save(world.streams[1])) == before);
  world.make(1, {false, false});
  CHECK(world.all[0]->scaler->scale(world.streams[0]) == 32768);
}

TEST_CASE("steps of ranks that are captured are, replayed, those of ranks that are not") {
  std::mt19937 random(7);
  for (int way = 0; way < 4; ++way) {
    World world(3);
    Trained alone("cpu", 3);
    const Step first = random_step(random, 3);
    for (const auto& one : world.all) one->fill({first.values[0]});
    world.make(way, {false, false, false});  // lists of `unscale` are made ready outside
    must(cudaDeviceSynchronize());
    alone.fill({first.values[0], first.values[0], first.values[0]});
    alone.make(way, false, nullptr);
    std::vector<std::unique_ptr<Graph>> graphs;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      graphs.push_back(std::make_unique<Graph>(world.streams[rank],
                                               [&] { world.all[rank]->make(way, false, world.streams[rank]); }));
    }
    for (int i = 0; i < 20; ++i) {
      const Step step = random_step(random, 3);
      alone.fill(step.values);
      for (std::size_t rank = 0; rank < 3; ++rank) world.all[rank]->fill({step.values[rank]});
      for (std::size_t rank = 0; rank < 3; ++rank) graphs[rank]->replay(world.streams[rank]);
      alone.make(way, false, nullptr);
      for (std::size_t rank = 0; rank < 3; ++rank) {
        CHECK(world.all[rank]->told(world.streams[rank]) == alone.told(nullptr));
      }
    }
  }
}

TEST_CASE("ranks on a GPU that part are told by the next call that waits, once, and nothing else is noted") {
  World world(2);
  world.all[1]->scaler->set_scale(8, world.streams[1]);
  const std::string before = state_to_json(world.all[0]->scaler->save(world.streams[0]));
  for (const auto& one : world.all) one->fill({{infinity}});
  for (std::size_t rank = 0; rank < 2; ++rank) world.all[rank]->grads->unscale_and_update(world.streams[rank]);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    CHECK_THROWS_WITH(world.all[rank]->scaler->scale(world.streams[rank]),
                      Catch::Contains("the ranks of the comm are not at the same scale: from 8.0 to 65536.0"));
    std::int32_t noop = 0;
    must(cudaMemcpy(&noop, world.all[rank]->grads->pointer(Shown::noop), sizeof noop, cudaMemcpyDeviceToHost));
    CHECK(noop == 1);
  }
  CHECK(state_to_json(world.all[0]->scaler->save(world.streams[0])) == before);
  world.all[1]->scaler->set_scale(65536, world.streams[1]);
  for (std::size_t rank = 0; rank < 2; ++rank) world.all[rank]->grads->unscale_and_update(world.streams[rank]);
  CHECK(world.all[0]->scaler->scale(world.streams[0]) == 32768);
}

TEST_CASE("what NCCL refuses, or found before, is told with its number, and its group is closed") {
  World world(1);
  constexpr int remote_error = 6;
  SECTION("in the call") {
    refuse_an_all_reduce(remote_error);
  }
  SECTION("before") {
    world.nccl.fail(0, remote_error);
  }
  try {
    world.all[0]->grads->observe(world.streams[0]);
    FAIL("observed");
  } catch (const Error& error) {
    CHECK(error.status == Status::backend);
    CHECK(error.detail == remote_error);
    CHECK(std::string(error.what()).find("remote process exited or there was a network error (6)") !=
          std::string::npos);
  }
  CHECK(open_nccl_groups() == 0);
  world.nccl.fail(0, 0);
  CHECK(world.all[0]->scaler->report(world.streams[0]).accumulated.count == 0);
}

TEST_CASE("a comm for another place, and another NCCL than is known, are refused") {
  NcclRanks nccl(1);
  Trained cpu("cpu", 1);
  Trained gpu("cuda:0", 1);
  const auto of_nccl = communicator_of_nccl(nccl.comm(0));
  CHECK(status_of([&] { cpu.scaler->set_communicator(of_nccl, Gradients::sharded); }) == Status::unsupported);
  const auto reduce = [](void*, void*, std::uint64_t, std::int32_t, CUstream_st*) { return std::int32_t{0}; };
  const auto of_host = communicator_of(Collectives{nullptr, reduce});
  CHECK(status_of([&] { gpu.scaler->set_communicator(of_host, Gradients::sharded); }) == Status::unsupported);
  say_nccl_device(1);
  const auto elsewhere = communicator_of_nccl(nccl.comm(0));
  CHECK_THROWS_WITH(gpu.scaler->set_communicator(elsewhere, Gradients::sharded),
                    Catch::Contains("one of NCCL's on cuda:1, and this computes on cuda:0"));
  say_nccl_device(-1);
  CHECK(status_of([&] { communicator_of_nccl(nccl.comm(0)); }) == Status::invalid_argument);
  say_nccl_device(0);
  for (const auto& [version, told] : {std::pair{2804, "2.8.4"}, {30001, "3.0.1"}}) {
    say_nccl_version(version);
    CHECK_THROWS_WITH(communicator_of_nccl(nccl.comm(0)),
                      Catch::Contains(std::string("the NCCL of this process is ") + told));
  }
  say_nccl_version(20900);
  CHECK(communicator_of_nccl(nccl.comm(0)) != nullptr);
  say_nccl_version(22809);
}

TEST_CASE("callbacks that take a GPU's memory get the record and the stream") {
  struct Seen {
    std::vector<std::pair<std::int32_t, std::uint64_t>> calls;
    CUstream_st* stream = nullptr;
  } seen;
  const auto reduce = [](void* context, void*, std::uint64_t count, std::int32_t operation, CUstream_st* stream) {
    auto& all = *static_cast<Seen*>(context);
    all.calls.emplace_back(operation, count);
    all.stream = stream;
    return std::int32_t{0};
  };
  Trained gpu("cuda:0", 1);
  const GpuStream stream;
  gpu.scaler->set_communicator(communicator_of(Collectives{&seen, reduce, true}), Gradients::sharded);
  gpu.fill({{3, 4, 0, 0, 0}});
  gpu.grads->observe(stream);
  CHECK(seen.calls == std::vector<std::pair<std::int32_t, std::uint64_t>>{{1, 10}, {2, 4}});
  CHECK(seen.stream == stream);
  CHECK(gpu.scaler->report(stream).accumulated.sum_of_squares == 25);
}

namespace {

std::string slots_on(const char* device, const char* policy) {
  return std::string(R"({"policy":")") + policy + R"(","slots":2,"format":"e4m3","device":")" + device + "\"}";
}

}  // namespace

TEST_CASE("slots of ranks on a GPU go by what all saw, in one group on the stream of the update") {
  const std::string policy = GENERATE("transformer_engine", "fp8_lm");
  constexpr std::size_t ranks = 3;
  constexpr std::uint64_t count = 300;
  std::mt19937 random(5);
  NcclRanks nccl(ranks);
  const std::vector<GpuStream> streams(ranks);
  const auto alone = make_fp8_scaler(parse_fp8_config(slots_on("cpu", policy.c_str()).c_str()));
  std::vector<std::unique_ptr<Fp8Scaler>> all;
  std::vector<std::thread> setting;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    all.push_back(make_fp8_scaler(parse_fp8_config(slots_on("cuda:0", policy.c_str()).c_str())));
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {  // each waits for the others
    setting.emplace_back([&, rank] { all[rank]->set_communicator(communicator_of_nccl(nccl.comm(rank))); });
  }
  for (std::thread& thread : setting) thread.join();
  for (int step = 0; step < 20; ++step) {
    nccl.take_calls();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      for (std::uint32_t slot = 0; slot < 2; ++slot) {
        std::vector<float> values(count);
        for (float& value : values)
          value = std::ldexp(static_cast<float>(random() % 1000), static_cast<int>(random() % 9));
        std::vector<unsigned char> narrow(count);
        const GpuBytes in(count * sizeof(float));
        const GpuBytes out(count);
        upload(in.data(), values.data(), count * sizeof(float));
        const Tensor host[] = {{values.data(), count, Dtype::f32, 0}, {narrow.data(), count, Dtype::f8_e4m3fn, 0}};
        const Tensor device[] = {{in.data(), count, Dtype::f32, 0}, {out.data(), count, Dtype::f8_e4m3fn, 0}};
        alone->quantise({host, 1}, {host + 1, 1}, &slot, nullptr);
        all[rank]->quantise({device, 1}, {device + 1, 1}, &slot, streams[rank]);
      }
    }
    alone->update(nullptr);
    for (std::size_t rank = 0; rank < ranks; ++rank) all[rank]->update(streams[rank]);
    const std::vector<NcclCall> calls = nccl.take_calls();
    REQUIRE(calls.size() == ranks * (policy == "fp8_lm" ? 3 : 1));
    const int group = calls[0].group;
    CHECK(group > 0);
    CHECK(calls[0] == NcclCall{0, 2, 3, 2, streams[0], group});
    if (policy == "fp8_lm") CHECK(calls[2] == NcclCall{0, 2, 5, 0, streams[0], group});
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      CHECK(state_to_json(all[rank]->save(streams[rank])) == state_to_json(alone->save(nullptr)));
    }
  }
}

TEST_CASE("slots on a GPU that are not those of the other ranks are refused on every one") {
  NcclRanks nccl(2);
  const auto one = make_fp8_scaler(parse_fp8_config(slots_on("cuda:0", "transformer_engine").c_str()));
  const auto other = make_fp8_scaler(parse_fp8_config(slots_on("cuda:0", "fp8_lm").c_str()));
  Status statuses[2] = {};
  const auto set = [&](Fp8Scaler& slots, std::size_t rank) {
    statuses[rank] = status_of([&] { slots.set_communicator(communicator_of_nccl(nccl.comm(rank))); });
  };
  std::thread first([&] { set(*one, 0); });
  set(*other, 1);
  first.join();
  CHECK(statuses[0] == Status::mismatch);
  CHECK(statuses[1] == Status::mismatch);
  nccl.take_calls();
  one->update(nullptr);
  CHECK(nccl.take_calls().empty());
}
