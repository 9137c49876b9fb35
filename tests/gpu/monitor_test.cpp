// A monitor that looks at a GPU's tensors, behind the module: nothing waits, and what is told is what the CPU tells.
#include "lib/monitor/monitor.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/gpu/gpu.hpp"

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::test;
using monitor::Monitor;

namespace {

const std::vector<std::string> names{"up", "down"};

struct Weights {
  std::mt19937_64 random{7};
  std::vector<Array> on_cpu;
  std::unique_ptr<GpuArrays> on_gpu;

  Weights() {
    fill(on_cpu.emplace_back(Dtype::bf16, 40'000), random, true);
    fill(on_cpu.emplace_back(Dtype::f32, 700), random, false);
    on_gpu = std::make_unique<GpuArrays>(on_cpu);
  }
  std::vector<Tensor> cpu() { return tensors_of(on_cpu); }
};

/// What a monitor tells that looks at each step.
std::string told(Monitor& monitor) {
  monitor.wait();
  return monitor.report() + monitor.findings() + monitor.at_scale(8, "f16");
}

}  // namespace

TEST_CASE("what a monitor sees of a GPU's tensors is word for word what it sees of the CPU's") {
  Weights weights;
  const GpuStream stream;
  Monitor here(monitor::parse_config(R"({"every":1})"));
  Monitor there(monitor::parse_config(R"({"every":1})"));
  for (std::int64_t step = 0; step < 3; ++step) {
    here.observe("weights", names, weights.cpu(), 1024);
    here.observe("inputs", names, weights.cpu());
    there.observe_on_gpu(0, "weights", names, weights.on_gpu->tensors(), {1024}, stream);
    there.observe_on_gpu(0, "inputs", names, weights.on_gpu->tensors(), {1}, stream);
    for (Monitor* monitor : {&here, &there}) monitor->observe_again("outputs", "again", "weights", names[1]);
    here.step(step);
    there.step(step);
    CHECK(told(there) == told(here));
  }
}

TEST_CASE("a scale that lies on the GPU is told as one that the host knows") {
  Weights weights;
  const GpuStream stream;
  const GpuBytes scale(sizeof(float));
  const float now = 1024;
  upload(scale.data(), &now, sizeof now);
  Monitor here(monitor::parse_config(R"({"every":1})"));
  Monitor there(monitor::parse_config(R"({"every":1})"));
  here.observe("gradients", names, weights.cpu(), 1024);
  there.observe_on_gpu(0, "gradients", names, weights.on_gpu->tensors(),
                       {.place = reinterpret_cast<const float*>(scale.data())}, stream);
  here.step(0);
  there.step(0);
  CHECK(told(there) == told(here));
}

TEST_CASE("a step waits for no GPU, and is told once that has looked") {
  Weights weights;
  const GpuStream stream;
  Monitor monitor(monitor::parse_config(R"({"every":10})"));
  monitor.observe_on_gpu(0, "weights", names, weights.on_gpu->tensors(), {1}, stream);
  monitor.step(100);
#if defined(TARE_SIMULATED)  // where nothing runs before somebody waits
  CHECK(!monitor.is_settled());
  CHECK(monitor.report().find("\"step\"") == std::string::npos);
  monitor.step(101);
  CHECK(!monitor.is_settled());
#else
  monitor.step(101);
#endif
  stream.wait();
  CHECK(monitor.is_settled());
  CHECK(monitor.report().find("\"step\": 100") != std::string::npos);
}

TEST_CASE("gradients of a GPU's list and where its scaler stands are told as the waiting call tells them") {
  Weights weights;
  const GpuStream stream;
  ScalerConfig config = parse_config(R"({"policy":"torch","device":"cuda:0","initial_scale":256})");
  LossScaler scaler(config);
  const auto list = scaler.make_grads(weights.on_gpu->tensors());
  Monitor waiting(monitor::parse_config(R"({"every":1})"));
  Monitor other(monitor::parse_config(R"({"every":1})"));
  for (std::int64_t step = 0; step < 3; ++step) {
    list->observe(stream);
    other.add_gradients_on_gpu(*list, names, stream);
    waiting.add_gradients(*list, names, stream);
    scaler.update(stream);
    other.step(step);
    waiting.step(step);
    CHECK(told(other) == told(waiting));
  }
  list->observe(stream);
  other.add_gradients_on_gpu(*list, names, stream);
  other.add_scaler({32, 7, 0, 0, 0});  // in the place of the list's
  other.step(3);
  CHECK(told(other).find("\"scale\": 32") != std::string::npos);
}

TEST_CASE("steps in a row are told in their order, each when the next one is looked at") {
  Weights weights;
  const GpuStream stream;
  Monitor monitor(monitor::parse_config(R"({"every":1})"));
  for (std::int64_t step = 0; step < 4; ++step) {
    monitor.observe_on_gpu(0, "weights", names, weights.on_gpu->tensors(), {1}, stream);
    monitor.step(step);
#if defined(TARE_SIMULATED)
    if (step > 0) CHECK(monitor.report().find("\"step\": " + std::to_string(step - 1)) != std::string::npos);
#endif
  }
  monitor.step(4);  // without a look at a GPU
  CHECK(monitor.report().find("\"step\": 4") != std::string::npos);
}

TEST_CASE("a monitor that ends while a GPU looks leaves that step to its sinks") {
  Weights weights;
  const GpuStream stream;
  const auto path = std::filesystem::temp_directory_path() / ("tare-monitor-" + std::to_string(::getpid()) + ".jsonl");
  {
    Monitor monitor(monitor::parse_config((R"({"every":1,"sinks":[{"jsonl":")" + path.string() + R"("}]})").c_str()));
    monitor.observe_on_gpu(0, "weights", names, weights.on_gpu->tensors(), {1}, stream);
    monitor.step(41);
  }
  std::ifstream file(path);
  std::string line;
  CHECK(std::getline(file, line));
  CHECK(line.find("41") != std::string::npos);
  CHECK(line.find("\"weights\"") != std::string::npos);
  std::filesystem::remove(path);
}

TEST_CASE("a state that is loaded while a GPU looks forgets that look") {
  Weights weights;
  const GpuStream stream;
  Monitor monitor(monitor::parse_config(R"({"every":1})"));
  const ScalerState fresh = monitor.save();
  monitor.observe_on_gpu(0, "weights", names, weights.on_gpu->tensors(), {1}, stream);
  monitor.step(0);
  monitor.load(fresh);
  CHECK(monitor.is_settled());
  monitor.observe_on_gpu(0, "weights", names, weights.on_gpu->tensors(), {1}, stream);
  monitor.step(7);
  CHECK(told(monitor).find("\"step\": 7") != std::string::npos);
}

TEST_CASE("tensors of a group that is not looked at are not touched, a GPU's either") {
  Monitor monitor(monitor::parse_config(R"({"groups":{"weights":{"every":0}}})"));
  const std::vector<Tensor> nowhere{{reinterpret_cast<void*>(16), 4, Dtype::f32, 0}};
  monitor.observe_on_gpu(0, "weights", std::vector<std::string>{"a"}, nowhere, {1}, nullptr);
  monitor.step(0);
  CHECK(monitor.is_settled());
}
