// torch's own results of unscaling (torch 2.15, CPU), read from tests/vectors/torch_unscale.json.
#pragma once

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/places.hpp"
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

/// The sign of a NaN that comes of inf * 0 is the CPU's own choice. torch's results were made on x86-64; here it would
/// write what this CPU makes. (Its cast to bf16 makes one NaN of all.)
inline void give_own_sign_to_made_nans(const Array& in, Array& out) {
  const volatile float zero = 0.0f;
  const volatile float infinity = HUGE_VALF;
  const bool is_negative = std::signbit(infinity * zero);
  const std::uint64_t sign = std::uint64_t{1} << (8 * out.size() - 1);
  for (std::uint64_t i = 0; i < out.count(); ++i) {
    const bool is_made = std::isnan(decode(out.dtype(), out.get(i))) && !std::isnan(decode(in.dtype(), in.get(i)));
    if (is_made) out.set(i, is_negative ? out.get(i) | sign : out.get(i) & ~sign);
  }
}

inline std::vector<UnscaleVector> torch_unscale() {
  static const std::map<std::string, Dtype> dtypes = {
      {"f32", Dtype::f32}, {"f64", Dtype::f64}, {"f16", Dtype::f16}, {"bf16", Dtype::bf16}};
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
    const bool may_make_nans = dtype != Dtype::bf16 && !std::isnan(vectors.back().inverse_scale);
    if (may_make_nans) give_own_sign_to_made_nans(vectors.back().in, vectors.back().out);
  }
  REQUIRE(vectors.size() == 68);
  return vectors;
}

}  // namespace tare::kernels::test
