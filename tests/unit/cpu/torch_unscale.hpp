// torch's own results of unscaling (torch 2.15, CPU), read from tests/vectors/torch_unscale.json.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/unit/cpu/reference.hpp"

namespace tare::kernels::test {

struct UnscaleVector {
  std::string words;  ///< which one it is, for messages
  float inverse_scale;
  float found_inf_before;
  float found_inf;
  Array in;
  Array out;
};

inline Array array_of(Dtype dtype, const nlohmann::json& patterns) {
  Array array(dtype, patterns.size());
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    array.set(i, std::stoull(patterns[i].get<std::string>(), nullptr, 16));
  }
  return array;
}

inline std::vector<UnscaleVector> torch_unscale() {
  static const std::map<std::string, Dtype> dtypes = {
      {"f32", Dtype::kF32}, {"f64", Dtype::kF64}, {"f16", Dtype::kF16}, {"bf16", Dtype::kBf16}};
  const auto number = [](const nlohmann::json& value) {  // "inf" and "nan" are texts
    return value.is_string() ? std::strtof(value.get<std::string>().c_str(), nullptr) : value.get<float>();
  };
  std::ifstream file(TARE_TEST_SOURCE "/vectors/torch_unscale.json");
  REQUIRE(file);
  std::vector<UnscaleVector> vectors;
  const nlohmann::json document = nlohmann::json::parse(file);
  for (const nlohmann::json& vector : document.at("vectors")) {
    const Dtype dtype = dtypes.at(vector.at("dtype"));
    vectors.push_back({vector.at("dtype").dump() + " " + vector.at("inv_scale").dump() + " " + vector.value("why", ""),
                       number(vector.at("inv_scale")), number(vector.at("found_inf_before")),
                       number(vector.at("found_inf")), array_of(dtype, vector.at("in")),
                       array_of(dtype, vector.at("out"))});
  }
  REQUIRE(vectors.size() == 68);
  return vectors;
}

}  // namespace tare::kernels::test
