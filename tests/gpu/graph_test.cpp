// What is captured: which tensors a graph looks at, what becomes of lists that it holds, and that nothing which tare
// does loses somebody's capture.
#include "tests/gpu/graph.hpp"

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::test;

namespace {

constexpr std::uint16_t two = 0x4000;
constexpr std::uint16_t four = 0x4400;

std::vector<Array> thousand_of(std::uint16_t f16) {
  std::vector<Array> arrays(1, Array(Dtype::f16, 1000));
  for (std::uint64_t i = 0; i < 1000; ++i) arrays[0].set(i, f16);
  return arrays;
}

double greatest(cuda::DeviceList& list, cudaStream_t stream) {
  std::vector<Statistics> each(1);
  return list.read(each.data(), stream).seen.max_abs;
}

/// A list of two tensors' worth of addresses to choose from.
struct Fixture {
  GpuStream stream;
  std::vector<Array> twos = thousand_of(two);
  std::vector<Array> fours = thousand_of(four);
  GpuArrays at_twos{twos};
  GpuArrays at_fours{fours};
  cuda::DeviceScaler scaler{0, torch_at(1)};
  cuda::DeviceList list{scaler};

  void observe() { list.run({.pass = cuda::Pass::observe}, stream); }
  double observed() {
    observe();
    return greatest(list, stream);
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a pass on a stream of its own sees the list that was made ready before") {
  list.assign(at_twos.tensors());
  CHECK(observed() == 2.0);
}

TEST_CASE_METHOD(Fixture, "a captured rebind is the graph's: a pass before any replay sees what it is given itself") {
  list.assign(at_twos.tensors());
  CHECK(observed() == 2.0);
  const Graph graph(stream, [&] {
    CHECK(list.rebind(at_fours.tensors()));
    observe();
  });
  CHECK(list.rebind(at_fours.tensors()));
  CHECK(observed() == 4.0);
  CHECK(list.rebind(at_twos.tensors()));
  CHECK(observed() == 2.0);
  graph.replay(stream);
  CHECK(greatest(list, stream) == 4.0);
  CHECK(observed() == 2.0);
}

TEST_CASE_METHOD(Fixture, "a graph looks at the tensors that it was captured with, whatever was passed since") {
  list.assign(at_twos.tensors());
  CHECK(observed() == 2.0);
  const Graph with_rebind(stream, [&] {
    CHECK(list.rebind(at_twos.tensors()));
    observe();
  });
  const Graph without(stream, [&] { observe(); });
  CHECK(list.rebind(at_fours.tensors()));
  for (const Graph* graph : {&with_rebind, &without}) {
    CHECK(observed() == 4.0);
    graph->replay(stream);
    CHECK(greatest(list, stream) == 2.0);
  }
}

TEST_CASE_METHOD(Fixture, "a graph writes the outputs that it was captured with, and later passes their own") {
  std::vector<Array> first = thousand_of(0);
  std::vector<Array> second = thousand_of(0);
  const GpuArrays at_first(first);
  const GpuArrays at_second(second);
  const auto write = [&](const GpuArrays& to) {
    const std::vector<Tensor> outputs = to.tensors();
    cuda::PassRequest request{.pass = cuda::Pass::write};
    request.outputs = outputs.data();
    list.run(request, stream);
  };
  list.assign(at_twos.tensors());
  const Graph graph(stream, [&] { write(at_first); });
  write(at_first);
  stream.wait();
  CHECK(at_first.different_from(twos) == 0);
  CHECK(list.rebind(at_fours.tensors()));
  write(at_second);
  stream.wait();
  CHECK(at_second.different_from(fours) == 0);
  write(at_first);
  graph.replay(stream);
  write(at_second);
  stream.wait();
  CHECK(at_first.different_from(twos) == 0);
  CHECK(at_second.different_from(fours) == 0);
}

TEST_CASE_METHOD(Fixture, "a list that a graph holds is not made ready for other shapes") {
  std::vector<Array> others;
  for (int i = 0; i < 300; ++i) others.emplace_back(Dtype::f16, 7);
  const GpuArrays at_others(others);
  list.assign(at_twos.tensors());
  const Graph graph(stream, [&] { observe(); });
  CHECK_THROWS_AS(list.assign(at_others.tensors()), cuda::Failure);
  graph.replay(stream);
  CHECK(greatest(list, stream) == 2.0);
}

TEST_CASE_METHOD(Fixture, "a list shows nothing before a pass has run, captured or not") {
  list.assign(at_twos.tensors());
  const Graph graph(stream, [&] { observe(); });
  std::vector<Statistics> each(1);
  CHECK(list.read(each.data(), stream).seen.count == 0);
  CHECK(each[0].count == 0);
  graph.replay(stream);
  CHECK(list.read(each.data(), stream).seen.count == 1000);
  CHECK(each[0].max_abs == 2.0);
}

TEST_CASE_METHOD(Fixture, "scalers and lists are made, made ready and ended while a stream is captured") {
  list.assign(at_twos.tensors());
  const Graph graph(stream, [&] {  // in the mode of torch, which lets nobody make or free memory
    cuda::DeviceScaler another(0, torch_at(1));
    cuda::DeviceList short_lived(another);
    short_lived.assign(at_fours.tensors());
    observe();
  });
  graph.replay(stream);
  CHECK(greatest(list, stream) == 2.0);
}

TEST_CASE_METHOD(Fixture, "a list may be made ready inside the capture that passes it first") {
  const Graph graph(stream, [&] {
    list.assign(at_fours.tensors());
    observe();
  });
  CHECK(list.rebind(at_twos.tensors()));
  CHECK(observed() == 2.0);
  graph.replay(stream);
  CHECK(greatest(list, stream) == 4.0);
}

TEST_CASE_METHOD(Fixture, "a graph goes on from a state that is loaded, and from a scale that is set") {
  list.assign(at_twos.tensors());
  const Graph graph(stream, [&] { list.run({.pass = cuda::Pass::observe, .steps = true}, stream); });
  cuda::CommandArguments load;
  load.command = cuda::Command::take_over;
  load.running = torch_at(1024);
  scaler.obey(load, stream);
  graph.replay(stream);
  const ScalerCore core = scaler.read(stream);
  CHECK(core.shown.scale == 1024);
  CHECK(core.running.counters.steps == load.running.counters.steps + 1);
}

TEST_CASE_METHOD(Fixture, "calls that wait are refused while their stream is captured, and the capture goes on") {
  std::vector<Statistics> each(1);
  list.assign(at_twos.tensors());
  const Graph graph(stream, [&] {
    CHECK_THROWS_AS(scaler.read(stream), cuda::Failure);
    CHECK_THROWS_AS(list.read(each.data(), stream), cuda::Failure);
    observe();
  });
  graph.replay(stream);
  CHECK(greatest(list, stream) == 2.0);
}
