// The library's scaler on cuda:0: every trace of every framework, states, lists, and what callers read on the device.
#include <cmath>

#include "tests/gpu/graph.hpp"
#include "tests/places.hpp"
#include "tests/unit/scaler/library_scaler.hpp"

using namespace tare;

namespace {

/// Values in device memory.
class OnDevice {
 public:
  explicit OnDevice(const std::vector<float>& values)
      : bytes_(values.size() * sizeof(float)), tensor_{bytes_.data(), values.size(), Dtype::f32, 0} {
    kernels::test::upload(bytes_.data(), values.data(), values.size() * sizeof(float));
  }
  const kernels::Tensor& tensor() const { return tensor_; }

 private:
  kernels::test::GpuBytes bytes_;
  kernels::Tensor tensor_;
};

float on_device(const void* pointer) {
  float value = -1;
  CHECK(cudaMemcpy(&value, pointer, sizeof value, cudaMemcpyDeviceToHost) == cudaSuccess);
  return value;
}

}  // namespace

TEST_CASE("every trace of every framework comes out the same through the scaler on the GPU") {
  test::LibraryScaler scaler("cuda:0");
  const vectors::Tally tally = vectors::run_all(TARE_TEST_SOURCE "/vectors", scaler);
  CHECK(tally.traces > 200);
  CHECK(tally.differences.empty());
}

TEST_CASE("values are unscaled on the GPU, and scale, found-inf and multiplier are read there") {
  const auto scaler = make_scaler(parse_config(R"({"policy":"torch","initial_scale":4,"device":"cuda:0"})"));
  const float values[] = {3, 0, 4, INFINITY};
  const kernels::test::GpuBytes bytes(sizeof values);
  auto* device = reinterpret_cast<float*>(bytes.data());
  kernels::test::upload(device, values, sizeof values);
  const kernels::Tensor finite{device, 3, Dtype::f32, 0};
  const kernels::Tensor last{device + 3, 1, Dtype::f32, 0};
  const auto grads = scaler->make_grads({&finite, 1});
  const void* scale = scaler->pointer(Shown::scale);
  grads->unscale(nullptr);
  CHECK(on_device(device) == 0.75f);
  CHECK(on_device(device + 2) == 1.0f);
  CHECK(on_device(grads->pointer(Shown::found_inf)) == 0);
  CHECK(on_device(grads->pointer(Shown::multiplier)) == 0.25f);
  scaler->observe({&last, 1}, nullptr);
  CHECK(on_device(scaler->pointer(Shown::found_inf)) == 1);
  scaler->update(nullptr);
  CHECK(on_device(scale) == 2);
  const ScalerState saved = scaler->save(nullptr);
  scaler->set_scale(1024, nullptr);
  CHECK(on_device(scale) == 1024);
  scaler->load(saved, nullptr);
  CHECK(on_device(scale) == 2);
  CHECK(scaler->pointer(Shown::scale) == scale);
  const auto statistics = vectors::Json::parse(grads->statistics(nullptr));
  CHECK(statistics.at("total").at("zeros") == 1);
  CHECK(statistics.at("tensors").at(0).at("norm") == 5.0);
  CHECK_THROWS_AS(scaler->set_scale(1e300, nullptr), Error);
}

TEST_CASE("a list made ready is passed at once on a stream that does not wait for the legacy one") {
  const auto scaler = make_scaler(parse_config(R"({"policy":"torch","device":"cuda:0"})"));
  const OnDevice values({1, 2, 3});
  const kernels::test::GpuStream stream;
  const auto grads = scaler->make_grads({&values.tensor(), 1});
  grads->observe(stream);
  const auto statistics = vectors::Json::parse(grads->statistics(stream));
  CHECK(statistics.at("tensors").at(0).at("max_abs") == 3.0);
}

TEST_CASE("a graph keeps the scaler's list that it captured, whatever lists come after it") {
  const auto scaler = make_scaler(parse_config(R"({"policy":"torch","device":"cuda:0"})"));
  const OnDevice captured({1, 2, 3});
  const kernels::test::GpuStream stream;
  const kernels::test::Graph graph(stream, [&] { scaler->observe({&captured.tensor(), 1}, stream); });
  for (std::size_t length = 4; length < 24; ++length) {
    const OnDevice other(std::vector<float>(length, 7));
    scaler->observe({&other.tensor(), 1}, stream);
    stream.wait();
  }
  scaler->update(stream);
  graph.replay(stream);
  const auto statistics = vectors::Json::parse(scaler->statistics(stream));
  CHECK(statistics.at("accumulated").at("count") == 3);
  CHECK(statistics.at("accumulated").at("max_abs") == 3.0);
}

TEST_CASE("after a reduction of found-inf noop and the lists on the GPU say the same") {
  const auto scaler = make_scaler(parse_config(R"({"policy":"torch","device":"cuda:0"})"));
  const OnDevice values({1, 2, 3});
  const kernels::test::GpuStream stream;
  std::vector<std::unique_ptr<Grads>> lists;  // more than one launch tells
  for (int i = 0; i < 70; ++i) lists.push_back(scaler->make_grads({&values.tensor(), 1}));
  for (const auto& grads : lists) grads->observe(stream);
  stream.wait();
  const float another_ranks = 1;
  kernels::test::upload(scaler->accumulators().data, &another_ranks, sizeof another_ranks);
  scaler->report_reduced(stream);
  stream.wait();
  const auto whole = [](const void* pointer) {
    std::int32_t value = -1;
    kernels::test::must(cudaMemcpy(&value, pointer, sizeof value, cudaMemcpyDeviceToHost));
    return value;
  };
  CHECK(whole(scaler->pointer(Shown::noop)) == 1);
  for (const auto& grads : lists) {
    CHECK(on_device(grads->pointer(Shown::found_inf)) == 1);
    CHECK(whole(grads->pointer(Shown::noop)) == 1);
  }
  lists.clear();
  scaler->update(stream);
  CHECK(scaler->scale(stream) == 32768);
  CHECK(whole(scaler->pointer(Shown::noop)) == 0);
}

TEST_CASE("what waits is refused while its stream is captured, and handles come and go meanwhile") {
  const char* config = R"({"policy":"torch","device":"cuda:0"})";
  const auto scaler = make_scaler(parse_config(config));
  const OnDevice values({1, 2, 3});
  const kernels::test::GpuStream stream;
  const ScalerState saved = scaler->save(stream);
  const auto refused = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.status == Status::backend;
    }
    return false;
  };
  const kernels::test::Graph graph(stream, [&] {
    CHECK(refused([&] { (void)scaler->scale(stream); }));
    CHECK(refused([&] { (void)scaler->statistics(stream); }));
    CHECK(refused([&] { (void)scaler->save(stream); }));
    CHECK(refused([&] { scaler->load(saved, stream); }));
    const auto another = make_scaler(parse_config(config));
    const auto grads = another->make_grads({&values.tensor(), 1});
    scaler->observe({&values.tensor(), 1}, stream);
    scaler->update(stream);
  });
  for (int i = 0; i < 2; ++i) graph.replay(stream);
  CHECK(vectors::Json::parse(scaler->statistics(stream)).at("steps") == 2);
}

TEST_CASE("a graph goes on from the scale that is set, and from the state that is loaded") {
  const auto scaler = make_scaler(parse_config(R"({"policy":"torch","growth_interval":2,"device":"cuda:0"})"));
  const OnDevice infinite({INFINITY});
  const kernels::test::GpuStream stream;
  const auto grads = scaler->make_grads({&infinite.tensor(), 1});
  const ScalerState saved = scaler->save(stream);
  const kernels::test::Graph graph(stream, [&] { grads->observe_and_update(stream); });
  graph.replay(stream);
  CHECK(scaler->scale(stream) == 32768);
  scaler->set_scale(8, stream);
  graph.replay(stream);
  CHECK(scaler->scale(stream) == 4);
  scaler->load(saved, stream);
  graph.replay(stream);
  CHECK(scaler->scale(stream) == 32768);
}

TEST_CASE("a loss is multiplied by the scale on the GPU, and nothing is noted of it") {
  const auto scaler = make_scaler(parse_config(R"({"policy":"torch","initial_scale":65536,"device":"cuda:0"})"));
  const OnDevice loss({0.75f, INFINITY});
  scaler->scale_up({&loss.tensor(), 1}, nullptr);
  CHECK(on_device(loss.tensor().data) == 49152.0f);
  CHECK(on_device(scaler->pointer(Shown::found_inf)) == 0);
}

TEST_CASE("torch's rule steps on a caller's scale, tracker and found-inf in device memory") {
  const auto scaler = make_scaler(parse_config(R"({"policy":"torch","growth_interval":2,"device":"cuda:0"})"));
  struct State {
    float scale;
    std::int32_t tracker;
    float found_inf;
  };
  const kernels::test::GpuBytes bytes(sizeof(State));
  auto* state = reinterpret_cast<State*>(bytes.data());
  const auto stepped = [&](State before) {
    kernels::test::upload(state, &before, sizeof before);
    scaler->update_elsewhere({&state->scale, &state->tracker, &state->found_inf}, nullptr);
    CHECK(cudaMemcpy(&before, state, sizeof before, cudaMemcpyDeviceToHost) == cudaSuccess);
    return before;
  };
  CHECK(stepped({8, 1, 0}).scale == 16);
  CHECK(stepped({8, 1, 0}).tracker == 0);
  CHECK(stepped({8, 0, 0}).tracker == 1);
  CHECK(stepped({8, 1, NAN}).scale == 4);
  CHECK(scaler->scale(nullptr) == 65536);
}

TEST_CASE("memory that the GPU does not reach is refused by name: tensors, outputs, and a caller's state") {
  int walks_page_tables = 0;
  CHECK(cudaDeviceGetAttribute(&walks_page_tables, cudaDevAttrPageableMemoryAccess, 0) == cudaSuccess);
  if (walks_page_tables != 0) return;  // it reaches all
  const auto scaler = make_scaler(parse_config(R"({"policy":"torch","device":"cuda:0"})"));
  std::vector<float> host(8);
  const OnDevice values({1, 2, 3, 4, 5, 6, 7, 8});
  const kernels::Tensor both[] = {values.tensor(), {host.data(), 8, Dtype::f32, 0}};
  const kernels::Tensor devices[] = {values.tensor(), values.tensor()};
  const auto refused = [](const char* place) {
    return Catch::Contains(std::string(place) + " is memory of the host, and this computes on cuda:0");
  };
  CHECK_THROWS_WITH(scaler->make_grads(both), refused("tensor 1"));
  CHECK_THROWS_WITH(scaler->observe(both, nullptr), refused("tensor 1"));
  const auto grads = scaler->make_grads(devices);
  CHECK_THROWS_WITH(grads->rebind(both), refused("tensor 1"));
  const kernels::Tensor one[] = {values.tensor()};
  const auto alone = scaler->make_grads(one);
  const kernels::Tensor out{host.data(), 8, Dtype::f32, 0};
  CHECK_THROWS_WITH(alone->write({&out, 1}, nullptr, nullptr), refused("output 0"));
  std::int32_t tracker = 0;
  auto* device = static_cast<float*>(values.tensor().data);
  CHECK_THROWS_WITH(scaler->update_elsewhere({device, &tracker, device + 1}, nullptr), refused("the growth tracker"));
  alone->observe(nullptr);
  CHECK(vectors::Json::parse(alone->statistics(nullptr)).at("total").at("max_abs") == 8.0);
}
