#include "lib/dialect/extra_state.hpp"

#include <algorithm>
#include <limits>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

/// Two slots short of a module: input, weight, output, grad_output, grad_input.
Fp8Set set_of(std::vector<std::string> names) {
  Fp8Set set{};
  set.policy = &require_fp8_policy("transformer_engine");
  set.parameters = default_parameters(*set.policy);
  set.parameters.history_length = 2;
  set.names = std::move(names);
  for (std::size_t i = 0; i < set.names.size(); ++i) {
    set.formats.push_back(set.names[i].find("/grad_") == std::string::npos ? Dtype::f8_e4m3fn : Dtype::f8_e5m2);
  }
  start_fresh(set);
  for (std::size_t i = 0; i < set.names.size(); ++i) {
    set.scale[i] = static_cast<float>(i + 1);
    set.history[2 * i] = static_cast<float>(10 * i);
    set.history[2 * i + 1] = static_cast<float>(10 * i + 1);
  }
  return set;
}

const std::vector<std::string> one_layer = {"l/input", "l/weight", "l/output", "l/grad_output", "l/grad_input"};

ExtraState only_layer(const std::vector<std::string>& names) {
  const Fp8Set set = set_of(names);
  return extra_state_of(set, layers_of(set).front());
}

const Document* attribute(const DocumentMap& map, std::string_view key) {
  const auto entry = std::ranges::find(map, key, &DocumentEntry::key);
  return entry == map.end() ? nullptr : &entry->value;
}

/// Of the dict that a release writes.
DocumentMap recipe_of(const ExtraState& state, TeRelease release) {
  const Document dict = extra_state_document(state, release);
  const Document* recipe = attribute(std::get<DocumentMap>(dict.value), "recipe");
  REQUIRE(recipe != nullptr);
  return std::get<DocumentObject>(recipe->value).attributes;
}

}  // namespace

TEST_CASE("layers are told once each, with their slots, also where a set has these in turns") {
  const auto layers = layers_of(set_of({"a/input", "b.c/input", "a/weight", "lone"}));
  REQUIRE(layers.size() == 3);
  CHECK(layers[0].name == "a");
  CHECK(layers[0].slots == std::vector<std::size_t>{0, 2});
  CHECK(layers[1].name == "b.c");
  CHECK(layers[1].slots == std::vector<std::size_t>{1});
  CHECK(layers[2].slots.empty());
}

TEST_CASE("a release is written with or without its patch number") {
  CHECK(parse_te_release("1.13") == TeRelease{1, 13});
  CHECK(parse_te_release("v2.4.1") == TeRelease{2, 4});
  for (const char* text : {"", "2", "2.", "two", "2.x", "2.4-rc"}) CHECK_THROWS_AS(parse_te_release(text), Error);
}

TEST_CASE("releases keep a recipe from 2.0 on; before 1.6 they keep what tare does not write") {
  CHECK(keeps_recipe({2, 0}));
  CHECK_FALSE(keeps_recipe({1, 6}));
  CHECK_THROWS_WITH(keeps_recipe({1, 5}), Catch::Contains("global_fp8_buffer"));
}

TEST_CASE("saved slots stand in the columns of TransformerEngine's arrays") {
  const ExtraState state = only_layer(one_layer);
  CHECK(state.products == 1);
  CHECK(state.directions[0].scale == std::vector<float>{1, 2, 3});
  CHECK(state.directions[1].scale == std::vector<float>{4, 5});
  CHECK(state.directions[0].history == std::vector<float>{0, 10, 20, 1, 11, 21});
  CHECK(state.directions[1].history == std::vector<float>{30, 40, 31, 41});
}

TEST_CASE("slots of several products stand side by side, whatever their order, and none of them may be missing") {
  std::vector<std::string> names = one_layer;
  for (const char* name : {"l/grad_input.1", "l/grad_output.1", "l/output.1", "l/weight.1", "l/input.1"}) {
    names.emplace_back(name);
  }
  const ExtraState state = only_layer(names);
  CHECK(state.products == 2);
  CHECK(state.directions[0].scale == std::vector<float>{1, 2, 3, 10, 9, 8});
  CHECK(state.directions[1].scale == std::vector<float>{4, 5, 7, 6});
  CHECK(state.directions[0].history == std::vector<float>{0, 10, 20, 90, 80, 70, 1, 11, 21, 91, 81, 71});
  for (std::size_t missing = 0; missing < names.size(); ++missing) {
    std::vector<std::string> fewer = names;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(missing));
    CHECK_THROWS_AS(only_layer(fewer), Error);
  }
}

TEST_CASE("a layer without all of its slots is refused, and so is one with slots of no module") {
  CHECK_THROWS_AS(only_layer({"l/input", "l/weight"}), Error);
  CHECK_THROWS_AS(only_layer({"l/input.4294967295"}), Error);
  auto names = one_layer;
  names[2] = "l/bias";
  CHECK_THROWS_AS(only_layer(names), Error);
}

TEST_CASE("a GroupedLinear goes into the order of its release, or is refused where nothing would tell the order") {
  std::vector<std::string> names;
  for (const std::string& name : one_layer) {
    for (const char* product : {".0", ".1", ".2", ".3"}) names.push_back(name + product);
  }
  const ExtraState state = only_layer(names);
  const auto first_weight = [&](TeRelease release, std::size_t column) {
    const Document dict = extra_state_document(state, release);
    const Document* scale = attribute(std::get<DocumentMap>(dict.value), "scale_fwd");
    const Bytes& elements = std::get<DocumentTensor>(scale->value).elements;
    return load_le<float>(elements.data() + column * sizeof(float)) == state.directions[0].scale[1];
  };
  CHECK(first_weight({1, 13}, 4));
  CHECK(first_weight({2, 3}, 1));
  CHECK_THROWS_AS(extra_state_document(state, {2, 2}), Error);
}

TEST_CASE("two products go into the old order of 1.x where they are a GroupedLinear's, and only there") {
  std::vector<std::string> names;
  for (const std::string& name : one_layer) {
    for (const char* product : {".0", ".1"}) names.push_back(name + product);
  }
  ExtraState state = only_layer(names);
  const auto second_scale = [&](TeRelease release) {
    const Document dict = extra_state_document(state, release);
    const Document* scale = attribute(std::get<DocumentMap>(dict.value), "scale_fwd");
    return load_le<float>(std::get<DocumentTensor>(scale->value).elements.data() + sizeof(float));
  };
  CHECK(second_scale({1, 13}) == state.directions[0].scale[1]);
  state.is_grouped = true;
  CHECK(second_scale({1, 13}) == state.directions[0].scale[3]);
  CHECK(second_scale({2, 3}) == state.directions[0].scale[1]);
  CHECK_THROWS_AS(extra_state_document(state, {2, 2}), Error);
}

TEST_CASE("what a release without recipes would lose is named") {
  ExtraState state = only_layer(one_layer);
  CHECK(unkept(state, {1, 13}).empty());
  state.margin = 3;
  state.fp8_mha = true;
  CHECK(unkept(state, {1, 13}) == "recipe.margin = 3.0, recipe.fp8_mha = True");
  CHECK(unkept(state, {2, 0}).empty());
}

TEST_CASE("a recipe says all that its state was run with, in the attributes of its release") {
  ExtraState state = only_layer(one_layer);
  state.margin = 1.5;
  state.amax_compute_algo = "most_recent";
  state.reduce_amax = false;
  state.fp8_mha = true;
  const DocumentMap recipe = recipe_of(state, {2, 0});
  const auto says = [&](std::string_view key, const auto& value) {
    const Document* said = attribute(recipe, key);
    REQUIRE(said != nullptr);
    return std::get<std::decay_t<decltype(value)>>(said->value) == value;
  };
  CHECK(says("margin", 1.5));
  CHECK(says("amax_history_len", std::int64_t{2}));
  CHECK(says("amax_compute_algo", std::string("most_recent")));
  CHECK(says("reduce_amax", false));
  CHECK(says("fp8_dpa", false));
  CHECK(says("fp8_mha", true));
  CHECK(attribute(recipe, "scaling_factor_compute_algo") != nullptr);
  CHECK(says("interval", std::int64_t{-1}));
  CHECK(attribute(recipe_of(state, {2, 2}), "interval") == nullptr);
  state.margin = 2;
  CHECK(std::get<std::int64_t>(attribute(recipe_of(state, {2, 0}), "margin")->value) == 2);
}

TEST_CASE("formats that are none of a recipe's are refused, where a recipe is written") {
  ExtraState state = only_layer(one_layer);
  for (const double backward : {448.0, 57344.0}) {
    state.directions[1].format_max = backward;
    CHECK_NOTHROW(extra_state_document(state, {2, 0}));
  }
  state.directions[1].format_max = 240;
  CHECK_THROWS_WITH(extra_state_document(state, {2, 0}), Catch::Contains("448.0 and 240.0"));
  CHECK_NOTHROW(extra_state_document(state, {1, 13}));
  state.directions[1].format_max = 448;
  state.directions[0].format_max = 57344;
  CHECK_THROWS_AS(extra_state_document(state, {2, 0}), Error);
}

TEST_CASE("states are the same where scales, histories and formats are, bit for bit") {
  const ExtraState state = only_layer(one_layer);
  CHECK(same_values(state, state));
  for (std::size_t direction = 0; direction < 2; ++direction) {
    ExtraState other = state;
    other.directions[direction].scale[0] *= -1;
    CHECK_FALSE(same_values(state, other));
    other = state;
    other.directions[direction].history.back() += 1;
    CHECK_FALSE(same_values(state, other));
    other = state;
    other.directions[direction].format_max += 1;
    CHECK_FALSE(same_values(state, other));
  }
  ExtraState none = state, other_none = state;
  none.directions[0].scale[0] = other_none.directions[0].scale[0] = std::numeric_limits<float>::quiet_NaN();
  CHECK(same_values(none, other_none));
}
