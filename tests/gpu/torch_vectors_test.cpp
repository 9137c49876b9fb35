// torch's own results of unscaling (torch 2.15), read from tests/vectors/torch_unscale.json: every bit, and found-inf.
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/gpu/gpu.hpp"

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::test;

namespace {

Array array_of(Dtype dtype, const nlohmann::json& patterns) {
  Array array(dtype, patterns.size());
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    array.set(i, std::stoull(patterns[i].get<std::string>(), nullptr, 16));
  }
  return array;
}

float number(const nlohmann::json& value) {
  return value.is_string() ? std::strtof(value.get<std::string>().c_str(), nullptr) : value.get<float>();
}

}  // namespace

TEST_CASE("unscaling gives torch's bits and torch's found-inf, in place and into another array") {
  const std::map<std::string, Dtype> names = {
      {"f32", Dtype::kF32}, {"f64", Dtype::kF64}, {"f16", Dtype::kF16}, {"bf16", Dtype::kBf16}};
  std::ifstream file(TARE_TEST_SOURCE "/vectors/torch_unscale.json");
  REQUIRE(file);
  const nlohmann::json vectors = nlohmann::json::parse(file).at("vectors");
  REQUIRE(vectors.size() == 68);
  const GpuStream stream;
  cuda::DeviceScaler scaler(0, torch_at(1));
  cuda::DeviceList list(scaler);
  for (const nlohmann::json& vector : vectors) {
    INFO(vector.at("dtype") << " " << vector.at("inv_scale") << " " << vector.value("why", ""));
    const Dtype dtype = names.at(vector.at("dtype"));
    const float inverse_scale = number(vector.at("inv_scale"));  // any, not just what a scale has
    must(cudaMemcpy(&scaler.core()->shown.inverse_scale, &inverse_scale, sizeof inverse_scale, cudaMemcpyHostToDevice));
    std::vector<Array> values(1, array_of(dtype, vector.at("in")));
    std::vector<Array> outputs(1, Array(dtype, values[0].count()));
    std::vector<Array> expected(1, array_of(dtype, vector.at("out")));
    const GpuArrays in(values);
    const GpuArrays out(outputs);
    const std::vector<Tensor> targets = out.tensors();
    list.assign(in.tensors(), stream);
    cuda::PassRequest write{.pass = cuda::Pass::write};
    write.outputs = targets.data();
    list.run(write, stream);
    stream.wait();
    CHECK(out.different_from(expected) == 0);
    CHECK(in.different_from(values) == 0);
    list.run({.pass = cuda::Pass::unscale}, stream);
    Statistics each;
    const ListCore core = list.read(&each, stream);
    CHECK(in.different_from(expected) == 0);
    if (number(vector.at("found_inf_before")) == 0) CHECK(core.shown.found_inf == number(vector.at("found_inf")));
  }
}
