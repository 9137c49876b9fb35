// Streams, captured graphs, several scalers at once, and other people's errors.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "tests/gpu/graph.hpp"

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::test;

namespace {

cuda::CommandArguments command(cuda::Command what) {
  cuda::CommandArguments asked;
  asked.command = what;
  return asked;
}

void put(const Tensor& tensor, std::uint16_t bits, cudaStream_t stream) {
  must(cudaMemcpyAsync(tensor.data, &bits, sizeof bits, cudaMemcpyHostToDevice, stream));
  must(cudaStreamSynchronize(stream));
}

/// Replays with random overflows, against the rule on the host; how many scales differ.
int wrong_replays(const char* policy, const Graph& graph, cuda::DeviceScaler& scaler, const Tensor& tensor,
                  cudaStream_t stream) {
  std::mt19937 random(1);
  rule::RunningState expected = running_of(policy);
  int wrong = 0;
  for (int i = 0; i < (sample() == 1 ? 1000 : 90); ++i) {
    const bool overflow = random() % 30 == 0;
    put(tensor, overflow ? 0x7c00 : 0x3c00, stream);
    graph.replay(stream);
    rule::advance(expected.policy, expected.state, overflow, expected.counters);
    const ScalerCore core = scaler.read(stream);
    wrong += rule::scale_of(core.running.policy.id, core.running.state) !=
             rule::scale_of(expected.policy.id, expected.state);
    wrong += core.running.counters.steps != expected.counters.steps;
  }
  return wrong;
}

}  // namespace

TEST_CASE("observe and update, captured, follow the rule through 1,000 replays, in one launch and in two") {
  for (const char* policy : {"torch", "megatron", "apex_hysteresis", "mindformers_adaptive"}) {
    if (rule::find_policy(policy) == nullptr) continue;
    for (const bool one_launch : {true, false}) {
      INFO(policy << (one_launch ? ", one launch" : ", two launches"));
      const GpuStream stream;
      std::vector<Array> arrays(1, Array(Dtype::f16, 1000));
      const GpuArrays values(arrays);
      cuda::DeviceScaler scaler(0, running_of(policy));
      cuda::DeviceList list(scaler);
      list.assign(values.tensors());
      stream.wait();
      const Graph graph(stream, [&] {
        list.run({.pass = cuda::Pass::observe, .steps = one_launch}, stream);
        if (!one_launch) scaler.obey(command(cuda::Command::step), stream);
      });
      CHECK(graph.nodes() == (one_launch ? 2 : 3));  // addresses are bound first
      CHECK(wrong_replays(policy, graph, scaler, values.tensors()[0], stream) == 0);
    }
  }
}

TEST_CASE("several scalers on several streams and devices do not see each other") {
  int devices = 0;
  must(cudaGetDeviceCount(&devices));
  const auto train = [&](int number) {
    const int device = number % devices;
    must(cudaSetDevice(device));
    const GpuStream stream;
    std::vector<Array> arrays(1, Array(Dtype::f16, 100000 / sample()));
    const GpuArrays values(arrays);
    cuda::DeviceScaler scaler(device, running_of("torch"));
    cuda::DeviceList list(scaler);
    list.assign(values.tensors());
    for (int i = 0; i < 200; ++i) {
      put(values.tensors()[0], i % (number + 2) == 0 ? 0x7c00 : 0x3c00, stream);
      list.run({.pass = cuda::Pass::observe, .steps = true}, stream);
    }
    const ScalerCore core = scaler.read(stream);
    return core.running.counters.skipped == (200 + number + 1) / (number + 2);
  };
  std::vector<std::thread> threads;
  std::vector<char> fine(6, 0);
  for (int i = 0; i < 6; ++i) threads.emplace_back([&, i] { fine[static_cast<std::size_t>(i)] = train(i) ? 1 : 0; });
  for (std::thread& thread : threads) thread.join();
  CHECK(std::ranges::count(fine, 1) == 6);
}

TEST_CASE("what several streams do with one scaler counts in the order of the calls") {
  std::vector<Array> fine(1, Array(Dtype::f16, 1000));
  std::vector<Array> overflown = fine;
  overflown[0].set(999, 0x7c00);
  const GpuArrays at_fine(fine);
  const GpuArrays at_overflown(overflown);
  cuda::DeviceScaler scaler(0, running_of("torch"));
  cuda::DeviceList list(scaler);
  list.assign(at_fine.tensors());
  rule::RunningState expected = running_of("torch");
  for (int i = 0; i < 20; ++i) {
    const GpuStream passing;
    const GpuStream stepping;
    const bool overflow = i % 3 == 0;
    REQUIRE(list.rebind(overflow ? at_overflown.tensors() : at_fine.tensors()));
    list.run({.pass = cuda::Pass::observe}, passing);
    scaler.obey(command(cuda::Command::step), stepping);
    rule::advance(expected.policy, expected.state, overflow, expected.counters);
  }
  const GpuStream reading;
  const ScalerCore core = scaler.read(reading);
  CHECK(rule::scale_of(core.running.policy.id, core.running.state) ==
        rule::scale_of(expected.policy.id, expected.state));
  CHECK(core.running.counters.skipped == 7);
  CHECK(core.last_step.count == 1000);
}

TEST_CASE("the device that is current at a call is so after it") {
  int devices = 0;
  must(cudaGetDeviceCount(&devices));
  const GpuStream stream;
  for (int current = 0; current < devices; ++current) {
    must(cudaSetDevice(current));
    cuda::DeviceScaler scaler(devices - 1, running_of("torch"));
    cuda::DeviceList list(scaler);
    int now = -1;
    must(cudaGetDevice(&now));
    CHECK(now == current);
  }
  must(cudaSetDevice(0));
}

// Runs alone (run.sh): the device answers nothing after it.
TEST_CASE("an error that another kernel left behind is told as somebody else's", "[.breaks_the_device]") {
  const GpuStream stream;
  cuda::DeviceScaler scaler(0, running_of("torch"));
  std::vector<Array> arrays(1, Array(Dtype::f32, 1000));
  const GpuArrays values(arrays);
  cuda::DeviceList list(scaler);
  std::vector<Tensor> tensors = values.tensors();
  tensors[0].count = std::uint64_t{1} << 31;  // far behind the end of what was allocated
  list.assign(tensors);
  list.run({}, stream);
  CHECK(cudaStreamSynchronize(stream) != cudaSuccess);
  try {
    list.run({}, stream);
    FAIL("nothing was said");
  } catch (const cuda::Failure& failure) {
    CHECK_THAT(failure.what(), Catch::Contains("an earlier kernel of this process went wrong"));
  }
}
