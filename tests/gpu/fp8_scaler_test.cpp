// The library's FP8 slots on cuda:0: every trace of every framework, and random steps of every policy beside the CPU's.
#include "lib/scaler/fp8_scaler.hpp"
#include "lib/codec/json.hpp"
#include "tests/fp8_vectors.hpp"
#include "tests/gpu/graph.hpp"
#include "tests/places.hpp"

using namespace tare;
using namespace tare::kernels::test;
using kernels::Tensor;

namespace {

class GpuSlots final : public fp8_vectors::Subject {
 public:
  void create_from_state(const std::string& state) override {
    slots_ = make_fp8_scaler(parse_fp8_config(R"({"device":"cuda:0"})", state_from_json(state, "a trace")));
  }
  void see(float amax) override {
    const float both[] = {amax, amax};
    upload(slots_->accumulators().data, both, sizeof both);
  }
  void update() override { slots_->update(nullptr); }
  std::string state() override { return state_to_json(slots_->save(nullptr)); }

 private:
  std::unique_ptr<Fp8Scaler> slots_;
};

constexpr Dtype formats[] = {Dtype::f8_e4m3fn, Dtype::f8_e5m2};

/// Tensors of all kinds, three a slot, with fp8 of the slot's format beside them.
struct Lists {
  std::vector<Array> wide;
  std::vector<Array> narrow;
  std::vector<std::uint32_t> slots;

  Lists(std::mt19937_64& random, std::uint32_t count) {
    constexpr Dtype sources[] = {Dtype::f32, Dtype::f16, Dtype::bf16};
    for (std::uint32_t i = 0; i < 3 * count; ++i) {
      const std::uint32_t slot = slots.emplace_back(i % count);
      wide.emplace_back(sources[random() % 3], random() % (i % 9 == 0 ? 70000 / share() : 300), random() % 9);
      narrow.emplace_back(formats[slot % 2], wide.back().count(), random() % 9);
    }
  }
};

std::string config_of(const std::string& policy, const char* device) {
  const bool has_history = policy == "transformer_engine" || policy == "flax_fp8";
  const char* length = policy == "msamp"                ? R"(,"window_size":5)"
                       : policy == "transformer_engine" ? R"(,"amax_history_len":5)"
                       : has_history                    ? R"(,"amax_history_length":5)"
                       : policy == "fp8_lm" ? R"(,"variant":"stepped","growth_steps":2,"counted":"above_largest")"
                                            : "";
  return R"({"policy":")" + policy + R"(","slots":4,"format":["e4m3","e5m2","e4m3","e5m2"],"device":")" + device +
         "\"" + length + "}";
}

}  // namespace

TEST_CASE("every FP8 trace of every framework comes out the same on the GPU") {
  GpuSlots slots;
  const fp8_vectors::Tally tally = fp8_vectors::run_all(TARE_TEST_SOURCE "/vectors", slots);
  CHECK(tally.traces == 579);
  CHECK(tally.differences.empty());
}

TEST_CASE("every FP8 policy observes, casts, casts back and steps on the GPU as on the CPU") {
  std::mt19937_64 random(5);
  const GpuStream stream;
  for (const std::string policy : {"transformer_engine", "te_current", "fp8_static", "msamp", "flax_fp8", "keras_fp8",
                                   "torchao_delayed", "torchao_dynamic", "fp8_lm"}) {
    INFO(policy);
    const auto host = make_fp8_scaler(parse_fp8_config(config_of(policy, "cpu").c_str()));
    const auto device = make_fp8_scaler(parse_fp8_config(config_of(policy, "cuda:0").c_str()));
    Lists lists(random, 4);
    const GpuArrays wide(lists.wide);
    const GpuArrays narrow(lists.narrow);
    for (int step = 0; step < 8; ++step) {
      for (Array& array : lists.wide) fill(array, random, false);
      const_cast<GpuArrays&>(wide).upload();
      const std::vector<Tensor> from = tensors_of(lists.wide);
      const std::vector<Tensor> to = tensors_of(lists.narrow);
      host->observe(from, lists.slots.data(), nullptr);
      device->observe(wide.tensors(), lists.slots.data(), stream);
      host->quantise(from, to, lists.slots.data(), nullptr);
      device->quantise(wide.tensors(), narrow.tensors(), lists.slots.data(), stream);
      stream.wait();
      CHECK(narrow.different_from(lists.narrow) == 0);
      host->dequantise(to, from, lists.slots.data(), nullptr);
      device->dequantise(narrow.tensors(), wide.tensors(), lists.slots.data(), stream);
      stream.wait();
      CHECK(wide.different_from(lists.wide) == 0);
      host->update(nullptr);
      device->update(stream);
      CHECK(state_to_json(device->save(stream)) == state_to_json(host->save(nullptr)));
    }
    const float* scale = device->pointer(Fp8Shown::scale);
    device->load(host->save(nullptr), stream);
    CHECK(device->pointer(Fp8Shown::scale) == scale);
    CHECK(state_to_json(device->save(stream)) == state_to_json(host->save(nullptr)));
  }
}

TEST_CASE(
    "a graph casts the tensors that it captured, whatever lists were cast since, and streams keep the order of calls") {
  const auto slots = make_fp8_scaler(parse_fp8_config(R"({"policy":"te_current","device":"cuda:0"})"));
  std::vector<Array> twos(1, Array(Dtype::f32, 1000));
  for (std::uint64_t i = 0; i < 1000; ++i) twos[0].set(i, bits_of(2.0f));
  const GpuArrays captured(twos);
  const GpuStream stream;
  const Graph graph(stream, [&] { slots->observe(captured.tensors(), nullptr, stream); });
  for (std::uint64_t length = 1; length < 40; ++length) {
    std::vector<Array> others(1, Array(Dtype::f32, length));
    others[0].set(0, bits_of(0.5f));
    const GpuArrays other(others);
    const GpuStream another;
    slots->observe(other.tensors(), nullptr, another);
    slots->update(stream);
    CHECK(fp8_vectors::Json::parse(slots->statistics(another)).at("slots").at(0).at("scale") == 896.0);
  }
  graph.replay(stream);
  slots->update(stream);
  CHECK(fp8_vectors::Json::parse(slots->statistics(stream)).at("slots").at(0).at("scale") == 224.0);
}

TEST_CASE("a hundred prepared lists are cast in turn, captured the first time that they are cast") {
  const auto slots = make_fp8_scaler(parse_fp8_config(R"({"policy":"te_current","device":"cuda:0"})"));
  const GpuStream stream;
  std::vector<std::vector<Array>> arrays;
  std::vector<std::unique_ptr<GpuArrays>> on_gpu;
  std::vector<std::unique_ptr<Fp8Casts>> lists;
  for (std::uint64_t i = 0; i < 100; ++i) {
    arrays.emplace_back(1, Array(Dtype::f32, 1 + i));
    arrays.back()[0].set(i, bits_of(static_cast<float>(i + 1)));
  }
  for (std::vector<Array>& array : arrays) {
    lists.push_back(slots->make_casts(on_gpu.emplace_back(std::make_unique<GpuArrays>(array))->tensors(), nullptr));
  }
  const Graph graph(stream, [&] {
    for (const auto& list : lists) list->observe(stream);
    slots->update(stream);
  });
  graph.replay(stream);
  const auto scale = fp8_vectors::Json::parse(slots->statistics(stream)).at("slots").at(0).at("scale");
  CHECK(scale == static_cast<double>(448.0f / 100.0f));
}
