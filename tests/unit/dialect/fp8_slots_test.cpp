#include "lib/dialect/fp8_slots.hpp"

#include <cmath>
#include <limits>

#include "lib/dialect/fp8_state.hpp"
#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/judge_fp8.hpp"
#include "tests/catch.hpp"
#include "tests/unit/dialect/made_field.hpp"

using namespace tare;
using tare::test::floats;

namespace {

FoundScaler state_of(const Dialect& dialect, std::vector<Field> fields) {
  FoundScaler state;
  state.dialect = &dialect;
  state.path = "layers.0._extra_state";
  state.fields = std::move(fields);
  return state;
}

/// One product, a history of 4: row 0 is in progress, row 3 the newest.
FoundScaler transformer_engine() {
  return state_of(
      transformer_engine_state,
      {floats("scale_fwd", {1, 2, 4}), floats("amax_history_fwd", {0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {4, 3}),
       floats("scale_bwd", {8, 16}), floats("amax_history_bwd", {0, 0, 1, 0, 2, 0, 3, 0}, {4, 2})});
}

using Amaxes = std::vector<double>;

}  // namespace

TEST_CASE("the entries of a history are told by age, whichever end is the newest") {
  struct Case {
    AgeOrder order;
    std::vector<std::uint64_t> entries;  // newest first
  };
  for (const auto& [order, entries] : {Case{AgeOrder::last_first, {3, 2, 1}}, Case{AgeOrder::first_wraps, {0, 3, 2, 1}},
                                       Case{AgeOrder::first, {0, 1, 2, 3}}, Case{AgeOrder::second, {1, 2, 3}}}) {
    REQUIRE(finished_entries(order, 4) == entries.size());
    for (std::uint64_t age = 0; age < entries.size(); ++age) CHECK(entry_of_age(order, 4, age) == entries[age]);
    CHECK(finished_entries(order, 1) == 1);
    CHECK(entry_of_age(order, 1, 0) == 0);
  }
}

TEST_CASE("TransformerEngine's columns are tensors, its last row the newest") {
  const FoundScaler state = transformer_engine();
  const auto slots = fp8_slots(state);
  REQUIRE(slots.size() == 5);
  CHECK(slots[1].role == "weight");
  CHECK(slots[1].multiplier() == 2);
  CHECK(slots[1].history_by_age() == Amaxes{8, 5, 2});
  CHECK(slots[3].role == "grad_output");
  CHECK(slots[3].format_max == 57344);
  CHECK(slots[3].history_by_age() == Amaxes{3, 2, 1});
}

TEST_CASE("Intel Gaudi's histories go round and round: the newest is where the index says") {
  const auto gaudi = [](float index) {
    return state_of(transformer_engine_gaudi_state,
                    {floats("scale_fwd", {2, 4}), floats("amax_history_fwd", {4, 2, 9, 3, 1, 5, 3, 7}, {4, 2}),
                     floats("amax_history_index_fwd", {index}), floats("scale_bwd", {8}),
                     floats("amax_history_bwd", {4, 9, 1, 3}, {4, 1}), floats("amax_history_index_bwd", {0})});
  };
  const FoundScaler state = gaudi(2);
  const auto slots = fp8_slots(state);
  REQUIRE(slots.size() == 3);
  CHECK(slots[0].history_by_age() == Amaxes{1, 9, 4, 3});
  CHECK(slots[1].history_by_age() == Amaxes{5, 3, 2, 7});
  CHECK(summary_of(slots[0]).newest == 1);
  CHECK(slots[2].role == "grad_output");
  CHECK(slots[2].history_by_age() == Amaxes{4, 3, 1, 9});
  const FoundScaler* layer = &state;
  CHECK_THROWS_WITH(fp8_state_of(std::span(&layer, 1)), Catch::Contains("Intel Gaudi's"));
  for (const float outside : {4.0F, -1.0F, std::numeric_limits<float>::quiet_NaN()}) {
    const FoundScaler astray = gaudi(outside);
    CHECK(fp8_slots(astray)[0].history == nullptr);
  }
}

TEST_CASE("te.ops' Quantize has a tensor either way, and what fits no convention has none") {
  const auto roles = [](std::vector<Field> fields) {
    std::vector<std::string> all;
    for (const Fp8Slot& slot : fp8_slots(state_of(transformer_engine_state, std::move(fields))))
      all.push_back(slot.role);
    return all;
  };
  CHECK(roles({floats("scale_fwd", {1}), floats("scale_bwd", {2})}) ==
        std::vector<std::string>{"input", "grad_output"});
  CHECK(roles({floats("scale_fwd", {1})}) == std::vector<std::string>{"input"});
  CHECK(judge_fp8(
            state_of(transformer_engine_state, {floats("scale_fwd", {1, 2, 3, 4, 5}), floats("scale_bwd", {1, 2, 3})}))
            .front()
            .code == "fp8-tensors-unknown");
}

TEST_CASE("where no variable has the format's largest number the recipe has it, for gradients their own") {
  const auto number = [](std::string name, double value) {
    Field field;
    field.name = std::move(name);
    field.value = {value, "float"};
    return field;
  };
  const auto maxima = [&](const std::string& forward, const std::string& backward) {
    const FoundScaler state = state_of(transformer_engine_state, {floats("scale_fwd", {1, 2}), floats("scale_bwd", {1}),
                                                                  number(forward + "fp8_format.max_fwd", 448),
                                                                  number(backward + "fp8_format.max_bwd", 448)});
    std::vector<double> all;
    for (const Fp8Slot& slot : fp8_slots(state)) all.push_back(slot.format_max);
    return all;
  };
  CHECK(maxima("recipe.", "recipe.") == std::vector<double>{448, 448, 448});
  CHECK(maxima("forward.recipe.", "backward.recipe.") == std::vector<double>{448, 448, 448});
}

TEST_CASE("torchao's newest amax, beside its history, counts for what is newest, largest and left of the range") {
  const FoundScaler state = state_of(
      torchao_delayed_state,
      {floats("fp8_amax_input", {7}), floats("fp8_amax_history_input", {2, 1, 9}), floats("fp8_scale_input", {64})});
  const auto slots = fp8_slots(state);
  REQUIRE(slots.size() == 1);
  CHECK(slots[0].history_by_age() == Amaxes{7, 2, 1});  // it takes the place of the oldest
  const FoundScaler risen = state_of(
      torchao_delayed_state,
      {floats("fp8_amax_input", {14}), floats("fp8_amax_history_input", {2, 1, 0}), floats("fp8_scale_input", {64})});
  const Fp8Summary summary = summary_of(fp8_slots(risen)[0]);
  CHECK(summary.newest == 14);
  CHECK(summary.max == 14);
  CHECK(*summary.margin_bits == -1);
}

TEST_CASE("AMD's float8_e4m3fnuz ends at 240, which flax's module tells by its name") {
  FoundScaler state = state_of(flax_fp8, {floats("input_scale", {1}), floats("output_grad_scale", {1})});
  CHECK(fp8_slots(state)[0].format_max == 448);
  state.path = "_overwrite_with_gradient.Dense_0.NANOOFp8DotGeneralOp_0";
  CHECK(fp8_slots(state)[0].format_max == 240);
  CHECK(fp8_slots(state)[1].format_max == 57344);
}

TEST_CASE("a GroupedLinear of 1.x has all inputs before all weights, one of 2.3 its products one by one") {
  Field products;
  products.name = "extra_fp8_variables.num_gemms";
  products.value = {4.0, "float"};
  const std::vector<Field> fields{floats("scale_fwd", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
                                  floats("scale_bwd", {1, 2, 3, 4, 5, 6, 7, 8}), products};
  const auto weight = [](const FoundScaler& state) {
    for (const Fp8Slot& slot : fp8_slots(state)) {
      if (slot.role == "weight.0") return slot.multiplier();
    }
    return 0.0;
  };
  FoundScaler state = state_of(transformer_engine_state, fields);
  CHECK(weight(state) == 5);
  Field margin;
  margin.name = "recipe.margin";
  margin.value = {0.0, "float"};
  state.fields.push_back(margin);
  CHECK(weight(state) == 2);
}

TEST_CASE("several matrix products have their columns side by side") {
  const FoundScaler state =
      state_of(transformer_engine_state, {floats("scale_fwd", {1, 2, 3, 4, 5, 6}), floats("scale_bwd", {7, 8, 9, 10})});
  const auto slots = fp8_slots(state);
  REQUIRE(slots.size() == 10);
  CHECK(slots[1].role == "input.1");
  CHECK(slots[1].multiplier() == 4);
  CHECK(slots.back().role == "grad_input.1");
  CHECK(slots.back().multiplier() == 10);
}

TEST_CASE(
    "a history whose rows have other columns than the scale is no history of it, though its entries are as many") {
  const auto lengths = [](std::vector<std::int64_t> shape) {
    std::vector<std::uint64_t> all;
    const FoundScaler state = state_of(
        transformer_engine_state,
        {floats("scale_fwd", {1, 2, 4}), floats("amax_history_fwd", std::vector<float>(12), std::move(shape))});
    for (const Fp8Slot& slot : fp8_slots(state)) all.push_back(slot.history_length());
    return all;
  };
  CHECK(lengths({4, 3}) == std::vector<std::uint64_t>{4, 4, 4});
  CHECK(lengths({2, 6}) == std::vector<std::uint64_t>{0, 0, 0});
  CHECK(lengths({3, 4}) == std::vector<std::uint64_t>{0, 0, 0});
}

TEST_CASE("states up to 0.5 have no columns for what a product gives") {
  const FoundScaler state =
      state_of(transformer_engine_state, {floats("scale_fwd", {1, 2, 3, 4}), floats("scale_bwd", {5, 6})});
  const auto slots = fp8_slots(state);
  REQUIRE(slots.size() == 6);
  CHECK(slots[1].role == "input.1");
  CHECK(slots[1].multiplier() == 3);
  CHECK(slots[5].role == "grad_output.1");
}

TEST_CASE("a scale that divides is shown as the multiplier that it stands for") {
  const FoundScaler state =
      state_of(flax_fp8, {floats("input_amax_history", {5, 1, 2, 3}), floats("input_scale", {0.25F})});
  const auto slots = fp8_slots(state);
  REQUIRE(slots.size() == 1);
  CHECK(slots[0].multiplier() == 4);
  CHECK(slots[0].history_by_age() == Amaxes{5, 3, 2, 1});
  CHECK(*summary_of(slots[0]).margin_bits == Approx(std::log2(448.0 / 20)));
}

TEST_CASE("layers that flax stacks have a scale and a history each, a row a layer") {
  const FoundScaler state = state_of(flax_fp8, {floats("input_amax_history", {5, 1, 2, 3, 50, 10, 20, 30}, {2, 4}),
                                                floats("input_scale", {0.25F, 0.5F}, {2, 1})});
  const auto slots = fp8_slots(state);
  REQUIRE(slots.size() == 2);
  CHECK(slots[0].role == "input.0");
  CHECK(slots[1].role == "input.1");
  CHECK(slots[0].multiplier() == 4);
  CHECK(slots[1].multiplier() == 2);
  CHECK(slots[0].history_by_age() == Amaxes{5, 3, 2, 1});
  CHECK(slots[1].history_by_age() == Amaxes{50, 30, 20, 10});
  CHECK(summary_of(slots[1]).newest == 50);
  const FoundScaler alone =
      state_of(flax_fp8, {floats("input_amax_history", {5, 1, 2, 3}, {1, 4}), floats("input_scale", {0.25F}, {1, 1})});
  REQUIRE(fp8_slots(alone).size() == 1);
  CHECK(fp8_slots(alone)[0].role == "input");
}

TEST_CASE("a summary counts what is filled and what is no number") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const FoundScaler state = state_of(
      torchao_delayed_state, {floats("fp8_scale_input", {2}), floats("fp8_amax_history_input", {7, 0, inf, 9}),
                              floats("fp8_scale_weight", {1}), floats("fp8_amax_history_weight", {0, 0, 0, 0})});
  const auto slots = fp8_slots(state);
  REQUIRE(slots.size() == 2);
  const Fp8Summary input = summary_of(slots[0]);
  CHECK(input.newest == 7);
  CHECK(input.max == 9);
  CHECK(input.filled == 3);
  CHECK(input.not_finite == 1);
  CHECK_FALSE(input.is_dead());
  CHECK(summary_of(slots[1]).is_dead());
  CHECK_FALSE(summary_of(slots[1]).margin_bits);
}

TEST_CASE("the state of layers is that of running slots, histories as the framework keeps them") {
  const FoundScaler layer = transformer_engine();
  const FoundScaler* const layers[] = {&layer};
  const ScalerState state = fp8_state_of(layers);
  CHECK(state.policy == "transformer_engine");
  const auto& names = std::get<StateArray>(*state.params.find("slots"));
  CHECK(std::get<std::vector<std::string>>(names.values)[3] == "layers.0/grad_output");
  const auto& history = std::get<StateArray>(*state.fields.find("amax_history"));
  CHECK(history.shape == std::vector<std::uint64_t>{5, 4});
  CHECK(std::get<std::vector<float>>(history.values)[5] == 2);  // the weight's entry 1
}

TEST_CASE("a recipe's margin goes into the state where it is a number, and what is none leaves it at 0") {
  const auto margin_of = [](Value margin) {
    FoundScaler layer = transformer_engine();
    Field field;
    field.name = "recipe.margin";
    field.value = std::move(margin);
    layer.fields.push_back(std::move(field));
    const FoundScaler* const layers[] = {&layer};
    return *fp8_state_of(layers).params.find("margin");
  };
  const StateValue none = margin_of({Integer{0, {}}, "int"});
  CHECK(margin_of({Integer{2, {}}, "int"}) != none);
  CHECK(margin_of({std::monostate(), "None"}) == none);
  CHECK(margin_of({std::monostate(), "tensor:complex64[]"}) == none);
  CHECK(margin_of({PackedArray{element_type("complex64"), {2}, Bytes(16)}, "tensor:complex64[2]"}) == none);
  CHECK(margin_of({ValueList(), "list"}) == none);
}

TEST_CASE("layers are chosen by their name or their path") {
  const FoundScaler state = transformer_engine();
  CHECK(layer_name(state) == "layers.0");
  CHECK(is_layer(state, "layers.*"));
  CHECK(is_layer(state, "layers.0._extra_state"));
  CHECK_FALSE(is_layer(state, "layers.1*"));
}

TEST_CASE("what has no inverse is shown as it is stored") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(stored_scale(ScaleMeaning::divisor, 4) == 0.25);
  CHECK(stored_scale(ScaleMeaning::divisor, inf) == inf);
  CHECK(stored_scale(ScaleMeaning::divisor, 0) == 0);
  CHECK(std::isnan(stored_scale(ScaleMeaning::divisor, std::numeric_limits<double>::quiet_NaN())));
}

TEST_CASE("bytes are powers of two, and the summary leaves out what is no number") {
  Field scales;
  scales.name = "scales";
  const Bytes bytes{std::byte{126}, std::byte{0xff}, std::byte{129}};
  scales.value = {PackedArray{element_type("uint8"), {3}, bytes}, "tensor:uint8[3]"};
  const FoundScaler state = state_of(mxfp4_weight, {scales});
  const auto slots = fp8_slots(state);
  REQUIRE(slots.size() == 1);
  CHECK(slots[0].stored(0) == 0.5);
  CHECK(slots[0].multiplier(2) == 0.25);
  const Fp8Summary summary = summary_of(slots[0]);
  CHECK(summary.scale_min == 0.25);
  CHECK(summary.scale_max == 2);
  CHECK(summary.scales_not_finite == 1);
}

TEST_CASE("a global scale multiplies where its blocks' scales divide, and an input's goes with no stored numbers") {
  const FoundScaler state =
      state_of(compressed_tensors_fp4_weight,
               {floats("weight_scale", {4}), floats("weight_global_scale", {64}), floats("input_global_scale", {32})});
  const auto slots = fp8_slots(state);
  REQUIRE(slots.size() == 3);
  CHECK(slots[0].multiplier() == 0.25);
  CHECK(slots[1].multiplier() == 64);
  CHECK(slots[1].use == ScaleUse::stored_data);
  CHECK(slots[2].use == ScaleUse::calibrated);
  CHECK(fp8_slots(transformer_engine())[0].use == ScaleUse::recomputed);
}

TEST_CASE("scales and histories that are no numbers are told, with the layer") {
  const float inf = std::numeric_limits<float>::infinity();
  const FoundScaler state =
      state_of(transformer_engine_state,
               {floats("scale_fwd", {inf, 0, -1}), floats("amax_history_fwd", {0, 0, 0, 1, inf, 3}, {2, 3})});
  std::vector<std::string> codes;
  for (const Finding& finding : judge_fp8(state)) codes.push_back(finding.code);
  CHECK(codes == std::vector<std::string>{"scale-not-finite", "scale-zero", "amax-not-finite", "scale-negative"});
  CHECK(judge_fp8(state)[0].path == "layers.0");
  CHECK(judge_fp8(transformer_engine()).empty());
}

TEST_CASE("a scale that is kept as a number counts like an array of one") {
  Field scale;
  scale.name = "weight_global_scale";
  scale.value = {64.0, "float"};
  const FoundScaler state = state_of(compressed_tensors_fp4_weight, {floats("weight_scale", {4}), scale});
  const auto slots = fp8_slots(state);
  REQUIRE(slots.size() == 2);
  CHECK(slots[1].multiplier() == 64);
}
