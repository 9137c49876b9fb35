#include "tests/unit/rule/traces.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "kernels/dtype.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

namespace tare::test {

using rule::Number;
using rule::NumberKind;
using rule::Raised;

std::vector<VectorFile> vector_files() {
  std::vector<VectorFile> files;
  for (const auto& entry : std::filesystem::directory_iterator(TARE_TEST_SOURCE "/vectors")) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream stream(entry.path());
    files.push_back({entry.path().stem().string(), Json::parse(stream)});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.rule < b.rule; });
  return files;
}

Number number_of(const Json& value) {
  if (value.is_null()) return {};
  if (value.is_boolean()) return rule::boolean_number(value.get<bool>());
  if (value.is_number_integer()) return rule::integer_number(value.get<int64_t>());
  if (value.is_number()) return rule::real_number(value.get<double>());
  const std::string text = value.get<std::string>();
  char* end = nullptr;
  const double real = std::strtod(text.c_str(), &end);
  INFO(text);
  REQUIRE(*end == '\0');
  return rule::real_number(real);
}

bool same(const Number& expected, const Number& actual) {
  if (expected.kind != actual.kind) return false;
  if (expected.kind != NumberKind::real) return expected.integer == actual.integer;
  if (std::isnan(expected.real)) return std::isnan(actual.real);
  return bits_of(expected.real) == bits_of(actual.real);
}

std::string shown(const Number& number) {
  if (number.kind == NumberKind::none) return "none";
  if (number.kind != NumberKind::real) return std::to_string(number.integer);
  char text[40];
  std::snprintf(text, sizeof text, "%a", number.real);
  return text;
}

Raised raised_of(const std::string& error) {
  static const std::pair<const char*, Raised> known[] = {
      {"Current loss scale already at minimum", Raised::scale_at_minimum},
      {"Minimum loss scale reached", Raised::minimum_reached},
      {"ZeroDivisionError", Raised::division_by_zero},
      {"TypeError: lax.select", Raised::mixed_types},
      {"No inf checks were recorded", Raised::no_inf_checks},
      {"cannot be converted to type float without overflow", Raised::scale_too_large},
      {"ValueError: scale value", Raised::invalid_scale},
  };
  for (const auto& [text, raised] : known) {
    if (error.find(text) != std::string::npos) return raised;
  }
  FAIL("an error without a reason of ours: " << error);
  return Raised::nothing;
}

}  // namespace tare::test
