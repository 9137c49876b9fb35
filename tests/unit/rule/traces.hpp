// The traces of tests/vectors: what real frameworks' own update code did, step by step.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/rule/number.hpp"
#include "kernels/rule/outcome.hpp"

namespace tare::test {

using Json = nlohmann::json;

struct VectorFile {
  std::string rule;
  Json content;
};

/// All files of tests/vectors, by name.
std::vector<VectorFile> vector_files();

/// A value of a trace: hex floats, inf and nan are strings there; ints and floats stay what they are.
rule::Number number_of(const Json& value);

/// Same kind and same bits; two nans are the same.
bool same(const rule::Number& expected, const rule::Number& actual);

std::string shown(const rule::Number& number);

/// The reason of ours that stands for an error of a framework. Fails the test for a text it does not know.
rule::Raised raised_of(const std::string& error);

/// What has been compared so far.
struct Tally {
  int64_t traces = 0;
  int64_t steps = 0;
  int64_t differences = 0;
};

}  // namespace tare::test
