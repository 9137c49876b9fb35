// torch's own results (torch 2.15, CPU), read from tests/vectors/torch_unscale.json.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/unit/cpu/reference.hpp"

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::test;

namespace {

nlohmann::json torch_unscale() {
  std::ifstream file(TARE_TEST_SOURCE "/vectors/torch_unscale.json");
  REQUIRE(file);
  return nlohmann::json::parse(file).at("vectors");
}

Dtype dtype_named(const std::string& name) {
  static const std::map<std::string, Dtype> names = {
      {"f32", Dtype::kF32}, {"f64", Dtype::kF64}, {"f16", Dtype::kF16}, {"bf16", Dtype::kBf16}};
  return names.at(name);
}

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

TEST_CASE("unscaling in place gives torch's bits and torch's found_inf on every instruction set") {
  const nlohmann::json vectors = torch_unscale();
  REQUIRE(vectors.size() == 68);
  for (const auto set : available_sets()) {
    cpu::CpuBackend backend(1, set);
    const auto list = backend.make_list();
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      const nlohmann::json& vector = vectors[i];
      INFO(cpu::name_of(set) << ", vector " << i << ": " << vector.at("dtype") << " " << vector.at("inv_scale"));
      const Dtype dtype = dtype_named(vector.at("dtype"));
      Array values = array_of(dtype, vector.at("in"));
      const Tensor tensor = values.tensor();
      const float inverse_scale = number(vector.at("inv_scale"));
      float found_inf = number(vector.at("found_inf_before"));
      list->assign(&tensor, 1, nullptr);
      list->unscale(&inverse_scale, {.found_inf = &found_inf}, nullptr);
      CHECK(values == array_of(dtype, vector.at("out")));
      CHECK(found_inf == number(vector.at("found_inf")));
    }
  }
}

TEST_CASE("unscaling torch's vectors into another array gives the same bits and leaves the input alone") {
  const nlohmann::json vectors = torch_unscale();
  for (const auto set : available_sets()) {
    cpu::CpuBackend backend(1, set);
    const auto list = backend.make_list();
    for (const nlohmann::json& vector : vectors) {
      INFO(cpu::name_of(set) << ", " << vector.at("dtype") << " " << vector.at("inv_scale"));
      const Dtype dtype = dtype_named(vector.at("dtype"));
      Array values = array_of(dtype, vector.at("in"));
      Array written(dtype, values.count());
      const Tensor tensor = values.tensor();
      const Tensor output = written.tensor();
      const float inverse_scale = number(vector.at("inv_scale"));
      list->assign(&tensor, 1, nullptr);
      list->write(&output, {.inverse_scale = &inverse_scale}, {}, nullptr);
      CHECK(values == array_of(dtype, vector.at("in")));
      CHECK(written == array_of(dtype, vector.at("out")));
    }
  }
}
