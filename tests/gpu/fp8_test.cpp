// FP8 slots and quantised lists on the GPU against the same code on the host.
#include "kernels/cuda/fp8.hpp"

#include "kernels/fp8/host_slots.hpp"
#include "tests/gpu/gpu.hpp"

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::test;

namespace {

template <class T>
std::vector<T> copied(const T* device, std::size_t count) {
  std::vector<T> values(count);
  must(cudaMemcpy(values.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

}  // namespace

TEST_CASE("thousands of slots of every rule step as on the host, whatever the length of their histories") {
  std::mt19937 random(1);
  const auto count = static_cast<std::uint32_t>(sample() == 1 ? 3001 : 301);
  const GpuStream stream;
  for (const fp8::Rule rule : {fp8::Rule::transformer_engine, fp8::Rule::current, fp8::Rule::msamp, fp8::Rule::flax,
                               fp8::Rule::torchao_delayed, fp8::Rule::torchao_dynamic}) {
    for (const std::uint32_t length : {1u, 16u, 1024u, 1100u}) {
      if ((rule == fp8::Rule::current || rule == fp8::Rule::torchao_dynamic) && length != 1) continue;
      INFO("rule " << static_cast<int>(rule) << ", length " << length);
      fp8::Params params;
      params.rule = rule;
      const fp8::Layout layout = rule == fp8::Rule::flax              ? fp8::Layout::flax
                                 : rule == fp8::Rule::msamp           ? fp8::Layout::msamp
                                 : rule == fp8::Rule::torchao_delayed ? fp8::Layout::torchao
                                                                      : fp8::Layout::transformer_engine;
      std::vector<float> fp8_max(count);
      for (std::uint32_t i = 0; i < count; ++i) fp8_max[i] = i % 2 == 0 ? 448.0f : 57344.0f;
      fp8::HostSlots host(params, {layout, length}, fp8_max);
      cuda::DeviceSlots device(0, host.arrays());
      for (std::uint64_t step = 0; step < 200 / sample(); ++step) {
        std::vector<std::uint32_t> amax(count);
        for (std::uint32_t i = 0; i < count; ++i) {
          const float value = std::exp2(static_cast<float>(random() % 4000) / 100.0f - 20.0f);
          amax[i] = random() % 50 == 0 ? static_cast<std::uint32_t>(random() % 0x7fffffffu) : bits_of(value);
          host.arrays().amax[i] = amax[i];
        }
        upload(device.slots().amax, amax.data(), count * 4);
        host.step();
        device.step(stream);
        stream.wait();
      }
      const std::vector<float> scale = copied(device.slots().scale, count);
      const std::vector<float> inverse = copied(device.slots().inverse, count);
      std::size_t wrong = 0;
      for (std::uint32_t i = 0; i < count; ++i) {
        wrong += bits_of(scale[i]) != bits_of(host.arrays().scale[i]) &&
                 !(std::isnan(scale[i]) && std::isnan(host.arrays().scale[i]));
        wrong += bits_of(inverse[i]) != bits_of(host.arrays().inverse[i]) && !std::isnan(inverse[i]);
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("a random list is quantised as element by element, and each slot's amax is raised") {
  std::mt19937_64 random(2);
  constexpr Dtype sources[] = {Dtype::f32, Dtype::f16, Dtype::bf16};
  const GpuStream stream;
  std::vector<Array> arrays;
  std::vector<Array> outputs;
  std::vector<std::uint32_t> slots;
  std::vector<std::uint32_t> amax(64, 0);
  for (int i = 0; i < 700; ++i) {
    const std::uint64_t most = i % 10 == 0 ? 200000 / sample() : 300;
    Array& array = arrays.emplace_back(sources[random() % 3], random() % most, random() % 9);
    fill(array, random, i % 20 == 0);
    slots.push_back(static_cast<std::uint32_t>(random() % amax.size()));
    outputs.emplace_back(random() % 2 == 0 ? Dtype::f8_e4m3fn : Dtype::f8_e5m2, array.count(), random() % 9);
  }
  const GpuArrays values(arrays);
  const GpuArrays written(outputs);
  const std::vector<float> fp8_max(amax.size(), 448.0f);
  cuda::DeviceSlots set(0, fp8::HostSlots({}, {fp8::Layout::transformer_engine, 16}, fp8_max).arrays());
  const std::vector<float> scale(amax.size(), 3000.0f);
  upload(set.slots().scale, scale.data(), scale.size() * 4);
  cuda::CastList list(set);
  list.assign(values.tensors(), slots.data());
  list.quantise(written.tensors().data(), stream);
  stream.wait();
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    for (std::uint64_t k = 0; k < arrays[i].count(); ++k) {
      const float value = static_cast<float>(decode(arrays[i].dtype(), arrays[i].get(k)));
      const float scaled = cuda::product(value, 3000.0f);
      outputs[i].set(k, outputs[i].dtype() == Dtype::f8_e4m3fn ? narrow<F8E4m3fn>(scaled, Range::saturate)
                                                               : narrow<F8E5m2>(scaled, Range::saturate));
      amax[slots[i]] = std::max(amax[slots[i]], bits_of(std::fabs(value)));
    }
  }
  CHECK(written.different_from(outputs) == 0);
  const std::vector<std::uint32_t> have = copied(set.slots().amax, amax.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < amax.size(); ++i) {
    wrong += have[i] != amax[i] && !(std::isnan(float_from(have[i])) && std::isnan(float_from(amax[i])));
  }
  CHECK(wrong == 0);
}
