#include "lib/edit/fp8_values.hpp"

#include <cmath>
#include <limits>

#include "lib/base/error.hpp"
#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/edit/fp8_changes.hpp"
#include "lib/edit/fp8_key.hpp"
#include "lib/edit/fp8_recipe_text.hpp"
#include "tests/catch.hpp"
#include "tests/unit/dialect/made_field.hpp"

using namespace tare;
using tare::test::floats;

namespace {

Field text(std::string name, std::string value) {
  Field field;
  field.name = std::move(name);
  field.value = {std::move(value), "str"};
  return field;
}

/// One product, a history of 3.
FoundScaler state_of(std::vector<Field> more = {}) {
  FoundScaler state;
  state.dialect = &transformer_engine_state;
  state.path = "a._extra_state";
  state.fields = {floats("scale_fwd", {1, 2, 4}), floats("scale_inv_fwd", {1, 0.5F, 0.25F}),
                  floats("amax_history_fwd", {0, 0, 0, 28, 7, 0, 14, 56, 0})};
  for (Field& field : more) state.fields.push_back(std::move(field));
  return state;
}

std::vector<double> numbers(const std::vector<NewField>& fields, std::string_view name) {
  for (const NewField& field : fields) {
    if (field.name != name) continue;
    const auto& array = std::get<PackedArray>(field.after.data);
    std::vector<double> all;
    for (std::uint64_t i = 0; i < array.count(); ++i) all.push_back(array.number_at(i));
    return all;
  }
  return {};
}

using Numbers = std::vector<double>;

}  // namespace

TEST_CASE("torchao's scales are computed of the newest amax and the history without its oldest") {
  FoundScaler state;
  state.dialect = &torchao_delayed_state;
  state.path = "a";
  state.fields = {floats("fp8_amax_input", {14}), floats("fp8_amax_history_input", {2, 1, 56}),
                  floats("fp8_scale_input", {1})};
  CHECK(numbers(recomputed_fp8(state), "fp8_scale_input") == Numbers{32});
  CHECK(numbers(reset_fp8(state, 0), "fp8_amax_input") == Numbers{448});
}

TEST_CASE("a recipe's own function, of which only a name is stored, is not taken for the usual rule") {
  Field own = text("recipe.amax_compute_algo", "my_train.recipes.my_amax");
  own.value.type = fp8_function_type;
  CHECK_THROWS_WITH(recomputed_fp8(state_of({own})), Catch::Contains("my_train.recipes.my_amax"));
}

TEST_CASE("the text that a recipe keeps of itself says its values as an edit leaves them") {
  const FoundScaler before = state_of(
      {text("recipe._cached_repr", "recipe_type=DelayedScaling, margin=0, amax_history_len=3, reduce_amax=True"),
       text("recipe.margin", "0")});
  FoundScaler after = before;
  after.fields.back().value = {Integer{-2, {}}, "int"};
  const auto fields = renewed_recipe_texts(before, after);
  REQUIRE(fields.size() == 1);
  CHECK(std::get<std::string>(fields.front().after.data) ==
        "recipe_type=DelayedScaling, margin=-2, amax_history_len=3, reduce_amax=True");
  CHECK(renewed_recipe_texts(before, before).empty());
}

TEST_CASE("scales whose columns are of no known tensors are refused, not passed over") {
  FoundScaler state = state_of();
  state.fields = {floats("scale_fwd", {1, 2, 3, 4, 5}), floats("scale_bwd", {1, 2, 3})};
  CHECK_THROWS_AS(reset_fp8(state, 0), Error);
  CHECK_THROWS_AS(recomputed_fp8(state), Error);
}

TEST_CASE("each direction of te.ops has the margin and the length of its own recipe") {
  const auto integer = [](std::string name, std::int64_t value) {
    Field field;
    field.name = std::move(name);
    field.value = {Integer{value, {}}, "int"};
    return field;
  };
  FoundScaler state = state_of();
  state.fields = {floats("scale_fwd", {1, 1}),
                  floats("amax_history_fwd", {0, 0, 28, 28}, {2, 2}),
                  integer("forward.recipe.margin", 1),
                  integer("forward.recipe.amax_history_len", 2),
                  floats("scale_bwd", {1}),
                  floats("amax_history_bwd", {0, 28}, {2, 1}),
                  integer("backward.recipe.margin", 0),
                  integer("backward.recipe.amax_history_len", 2)};
  const auto fields = recomputed_fp8(state);
  CHECK(numbers(fields, "scale_fwd") == Numbers{8, 8});
  CHECK(numbers(fields, "scale_bwd") == Numbers{2048});
  CHECK(resized_fp8(state, 4).size() == 4);
}

TEST_CASE("a scale is set for one tensor, and its reciprocal goes along") {
  const auto fields = new_fp8_values(state_of(), *parse_fp8_key("scale.weight"), "2^4", false);
  CHECK(numbers(fields, "scale_fwd") == Numbers{1, 16, 4});
  CHECK(numbers(fields, "scale_inv_fwd") == Numbers{1, 0.0625, 0.25});
  CHECK(fields.size() == 2);
}

TEST_CASE("inverses that are fewer, or more, than the scales go along with none of them") {
  for (const auto& inverses : {std::vector<float>{1, 0.5F}, std::vector<float>{1, 0.5F, 0.25F, 0.125F}}) {
    FoundScaler state = state_of();
    state.fields[1] = floats("scale_inv_fwd", inverses, {std::ssize(inverses), 1});
    const auto fields = new_fp8_values(state, *parse_fp8_key("scale.output"), "2^4", false);
    REQUIRE(fields.size() == 1);
    CHECK(numbers(fields, "scale_fwd") == Numbers{1, 2, 16});
  }
}

TEST_CASE("a scale that its field's type would make 0 is refused, and written when forced") {
  const auto* message = "0.0 is no scale: a positive number of float32's range";
  CHECK_THROWS_WITH(new_fp8_values(state_of(), *parse_fp8_key("scale.weight"), "1e-46", false), message);
  FoundScaler half = state_of();
  half.fields[0].value = {PackedArray{element_type("float16"), {3}, Bytes(6)}, "tensor:float16[3]"};
  half.fields.erase(half.fields.begin() + 1);
  CHECK_THROWS_WITH(new_fp8_values(half, *parse_fp8_key("scale.weight"), "1e-8", false), message);
  CHECK(numbers(new_fp8_values(half, *parse_fp8_key("scale.weight"), "1e-8", true), "scale_fwd") == Numbers{0, 0, 0});
  CHECK(numbers(new_fp8_values(half, *parse_fp8_key("scale.weight"), "0.5", false), "scale_fwd") == Numbers{0, 0.5, 0});
}

TEST_CASE("an element that an array does not have is no change of it") {
  const Field field = floats("scale_fwd", {1, 2, 4});
  Fp8Changes changes;
  changes.set(field, {1, 8.0, 2, 2});
  CHECK_THROWS_WITH(std::move(changes).take(), "scale_fwd: has 3 elements, none of number 3");
}

TEST_CASE("a scale is any positive number of float32's range, the least and the largest of it, too") {
  using Limits = std::numeric_limits<float>;
  for (const double scale : {1.0, double{Limits::max()}, double{Limits::min()}, double{Limits::denorm_min()}}) {
    CHECK_NOTHROW(require_scale(scale));
  }
  const double above = std::nextafter(double{Limits::max()}, std::numeric_limits<double>::infinity());
  for (const double none : {0.0, -1.0, above, std::numeric_limits<double>::infinity(), std::nan("")}) {
    CHECK_THROWS_WITH(require_scale(none), Catch::Contains("is no scale"));
  }
}

TEST_CASE("columns of several matrix products are regrouped where all that is there has such columns, else refused") {
  const auto grouped = [](Field inverses, TeRelease release = {2, 4}) {
    FoundScaler state;
    state.dialect = &transformer_engine_state;
    state.path = "a._extra_state";
    state.fields = {floats("scale_fwd", {1, 2, 3, 4, 5, 6}), floats("amax_history_fwd", {1, 2, 3, 4, 5, 6}, {1, 6}),
                    floats("scale_bwd", {1, 2, 3, 4}), floats("amax_history_bwd", {1, 2, 3, 4}, {1, 4}),
                    std::move(inverses)};
    return regrouped_fp8(state, release);
  };
  const Field inverses = floats("scale_inv_fwd", {1, 2, 3, 4, 5, 6});
  for (const TeRelease by_product : {TeRelease{2, 3}, TeRelease{2, 4}, TeRelease{3, 0}}) {
    CHECK(numbers(grouped(inverses, by_product), "scale_inv_fwd") == Numbers{1, 3, 5, 2, 4, 6});
  }
  for (const TeRelease by_role : {TeRelease{1, 14}, TeRelease{2, 2}}) {
    CHECK(numbers(grouped(inverses, by_role), "scale_inv_fwd") == Numbers{1, 4, 2, 5, 3, 6});
  }
  Field complex;
  complex.name = "scale_inv_fwd";
  complex.value = {PackedArray{element_type("complex64"), {6}, Bytes(48)}, "tensor:complex64[6]"};
  for (const Field& wrong :
       {floats("scale_inv_fwd", {1, 2}, {2, 1}), floats("scale_inv_fwd", std::vector<float>(7)), complex}) {
    INFO(wrong.value.type);
    CHECK_THROWS_WITH(grouped(wrong), Catch::Contains("does not hold numbers of 2 matrix products"));
  }
}

TEST_CASE("columns of one matrix product have one order, and are not regrouped") {
  FoundScaler state;
  state.dialect = &transformer_engine_state;
  state.path = "a._extra_state";
  state.fields = {floats("scale_fwd", {1, 2, 3}), floats("amax_history_fwd", {1, 2, 3}, {1, 3}),
                  floats("scale_bwd", {1, 2}), floats("amax_history_bwd", {1, 2}, {1, 2})};
  for (const TeRelease release : {TeRelease{2, 2}, TeRelease{2, 3}}) {
    CHECK_THROWS_WITH(regrouped_fp8(state, release), Catch::Contains("has one matrix product"));
  }
}

TEST_CASE("a history of another length has the rows from the front, zeros behind them, and as many columns as before") {
  FoundScaler state = state_of();
  state.fields[2] = floats("amax_history_fwd", {1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(numbers(resized_fp8(state, 4, {}), "amax_history_fwd") == Numbers{1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0});
  CHECK(numbers(resized_fp8(state, 1, {}), "amax_history_fwd") == Numbers{1, 2, 3});
}

TEST_CASE("a recipe's number goes by its own name and stays what it is, and yes or no is no value of a tensor") {
  Field margin;
  margin.name = "recipe.margin";
  margin.value = {Integer{1, {}}, "int"};
  margin.editable = true;
  const FoundScaler state = state_of({margin});
  const auto fields = new_fp8_values(state, fp8_key_of(state, "recipe.margin"), "3", false);
  REQUIRE(fields.size() == 1);
  CHECK(fields[0].name == "recipe.margin");
  CHECK(same(fields[0].after, {Integer{3, {}}, "int"}));
  CHECK(std::get<Integer>(fields[0].data) == Integer{3, {}});
  for (const char* word : {"true", "false"}) {
    CHECK_THROWS_WITH(new_fp8_values(state, *parse_fp8_key("scale.weight"), word, true),
                      Catch::Contains("is no value"));
  }
}

TEST_CASE("an amax is given to the whole history of every tensor that is meant") {
  const auto fields = new_fp8_values(state_of(), *parse_fp8_key("amax_history.*put"), "3", false);
  CHECK(numbers(fields, "amax_history_fwd") == Numbers{3, 0, 3, 3, 7, 3, 3, 56, 3});
}

TEST_CASE("values that no framework could use are refused unless they are forced") {
  const FoundScaler state = state_of();
  for (const char* value : {"0", "-1", "inf", "nan", "1e39"}) {
    CHECK_THROWS_AS(new_fp8_values(state, *parse_fp8_key("scale.*"), value, false), Error);
  }
  CHECK_THROWS_AS(new_fp8_values(state, *parse_fp8_key("amax_history.*"), "-1", false), Error);
  CHECK_THROWS_AS(new_fp8_values(state, *parse_fp8_key("scale.nothing"), "1", false), Error);
  CHECK(numbers(new_fp8_values(state, *parse_fp8_key("scale.input"), "0", true), "scale_fwd")[0] == 0);
}

TEST_CASE("only keys with a dot behind their word are of FP8 state") {
  CHECK_FALSE(parse_fp8_key("scale"));
  CHECK_FALSE(parse_fp8_key("scale."));
  CHECK_FALSE(parse_fp8_key("loss.scale"));
  CHECK(parse_fp8_key("amax_history.input")->name == "input");
}

TEST_CASE("a fresh start is scales of 1 and histories of 0") {
  const auto fields = reset_fp8(state_of(), 0);
  CHECK(numbers(fields, "scale_fwd") == Numbers{1, 1, 1});
  CHECK(numbers(fields, "scale_inv_fwd") == Numbers{1, 1, 1});
  CHECK(numbers(fields, "amax_history_fwd") == Numbers(9, 0.0));
}

TEST_CASE("scales are computed from the greatest amax, or the newest, and the margin; without an amax they stay") {
  CHECK(numbers(recomputed_fp8(state_of()), "scale_fwd") == Numbers{16, 8, 4});
  const auto newest = recomputed_fp8(state_of({text("recipe.amax_compute_algo", "most_recent")}));
  CHECK(numbers(newest, "scale_fwd") == Numbers{32, 8, 4});
  Field margin;
  margin.name = "recipe.margin";
  margin.value = {Integer{1, {}}, "int"};
  CHECK(numbers(recomputed_fp8(state_of({margin})), "scale_fwd") == Numbers{8, 4, 4});
}

TEST_CASE("native names set what is stored, and the other form of the same scale goes along") {
  const FoundScaler state = state_of();
  CHECK(numbers(new_fp8_values(state, fp8_key_of(state, "scale_fwd"), "8", false), "scale_inv_fwd") ==
        Numbers(3, 0.125));
  CHECK(numbers(new_fp8_values(state, fp8_key_of(state, "native:scale_inv_fwd"), "8", false), "scale_fwd") ==
        Numbers(3, 0.125));
  CHECK(numbers(new_fp8_values(state, fp8_key_of(state, "amax_history_fwd"), "5", false), "amax_history_fwd") ==
        Numbers(9, 5.0));
  CHECK_THROWS_AS(fp8_key_of(state, "weight_scale"), Error);
}

TEST_CASE("a scale that stored numbers were quantised with changes only where that is forced") {
  FoundScaler state = state_of();
  state.dialect = &deepseek_fp8_weight;
  state.fields = {floats("weight_scale_inv", {0.5F, 0.25F})};
  const Fp8Key key = fp8_key_of(state, "weight_scale_inv");
  CHECK_THROWS_WITH(new_fp8_values(state, key, "1", false),
                    Catch::Contains("whose values would become between 2 and 4 times what they are"));
  CHECK_THROWS_AS(new_fp8_values(state, *parse_fp8_key("scale.weight"), "1", false), Error);
  CHECK(numbers(new_fp8_values(state, key, "1", true), "weight_scale_inv") == Numbers{1, 1});
}

TEST_CASE("bytes that stand for powers of two take nothing else") {
  FoundScaler state = state_of();
  state.dialect = &mxfp4_weight;
  Field scales;
  scales.name = "scales";
  scales.value = {PackedArray{element_type("uint8"), {2}, Bytes(2, std::byte{127})}, "a tensor"};
  state.fields = {scales};
  CHECK(numbers(new_fp8_values(state, fp8_key_of(state, "scales"), "2^3", true), "scales") == Numbers{130, 130});
  CHECK(numbers(new_fp8_values(state, *parse_fp8_key("scale.weight"), "2^3", true), "scales") == Numbers{124, 124});
  CHECK_THROWS_AS(new_fp8_values(state, fp8_key_of(state, "scales"), "3", true), Error);
}

TEST_CASE("flax's histories keep their newest entries where its rule looks for them") {
  FoundScaler state = state_of();
  state.dialect = &flax_fp8;
  state.fields = {floats("input_scale", {1}), floats("input_amax_history", {5, 2, 3, 4})};  // 5, 4, 3, 2 by age
  CHECK(numbers(resized_fp8(state, 3), "input_amax_history") == Numbers{5, 3, 4});
  CHECK(numbers(resized_fp8(state, 6), "input_amax_history") == Numbers{5, 0, 0, 2, 3, 4});
  state.dialect = &keras_float8;
  CHECK_THROWS_AS(resized_fp8(state, 3), Error);
}

TEST_CASE("of layers that flax stacks each keeps its own history and its own scale") {
  FoundScaler state = state_of();
  state.dialect = &flax_fp8;
  state.fields = {floats("input_scale", {1, 1}, {2, 1}),
                  floats("input_amax_history", {7, 1, 2, 3, 56, 10, 20, 30}, {2, 4})};
  CHECK(numbers(recomputed_fp8(state), "input_scale") == Numbers{7.0F / 448, 0.125});
  const auto shape_of = [](const NewField& field) { return std::get<NewTensor>(field.data).shape; };
  for (const std::int64_t length : {3, 6}) {
    const auto fields = resized_fp8(state, length);
    REQUIRE(fields.size() == 1);
    CHECK(shape_of(fields[0]) == std::vector<std::int64_t>{2, length});
    CHECK(std::get<PackedArray>(fields[0].after.data).shape() == std::vector<std::int64_t>{2, length});
  }
  CHECK(numbers(resized_fp8(state, 3), "input_amax_history") == Numbers{7, 2, 3, 56, 20, 30});
  CHECK(numbers(resized_fp8(state, 5), "input_amax_history") == Numbers{7, 0, 1, 2, 3, 56, 0, 10, 20, 30});
  CHECK(numbers(reset_fp8(state, 3), "input_amax_history") == Numbers(6, 0));
  CHECK(numbers(new_fp8_values(state, *parse_fp8_key("scale.input.1"), "4", false), "input_scale") == Numbers{1, 0.25});
  CHECK(numbers(new_fp8_values(state, *parse_fp8_key("amax_history.input.0"), "9", false), "input_amax_history") ==
        Numbers{9, 9, 9, 9, 56, 10, 20, 30});
  state.fields = {floats("input_scale", {1}, {1, 1}), floats("input_amax_history", {7, 1, 2, 3}, {1, 4})};
  CHECK(shape_of(resized_fp8(state, 6).at(0)) == std::vector<std::int64_t>{1, 6});
}

TEST_CASE("scales that go with stored tensors are neither reset nor computed") {
  FoundScaler state = state_of();
  state.dialect = &msamp_tensor;
  CHECK_THROWS_AS(reset_fp8(state, 0), Error);
  CHECK_THROWS_AS(recomputed_fp8(state), Error);
}

TEST_CASE("an amax of 0 is an amax, and what is none is refused with its own words") {
  const FoundScaler state = state_of();
  const auto refusal = [&](const char* key, const char* value) {
    try {
      new_fp8_values(state, *parse_fp8_key(key), value, false);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("taken");
  };
  CHECK(numbers(new_fp8_values(state, *parse_fp8_key("amax_history.input"), "0", false), "amax_history_fwd") ==
        Numbers{0, 0, 0, 0, 7, 0, 0, 56, 0});
  CHECK(refusal("amax_history.input", "-1") == "-1.0 is no amax: a number from 0 on");
  CHECK(refusal("amax_history.input", "inf") == "inf is no amax: a number from 0 on");
  CHECK(refusal("scale.input", "0") == "0.0 is no scale: a positive number of float32's range");
}

TEST_CASE("a key of one tensor reads its scale, or its history from the first row on; a key of several is refused") {
  const FoundScaler state = state_of();
  CHECK(fp8_value(state, *parse_fp8_key("scale.weight")).as_double() == 2);
  CHECK(fp8_value(state, *parse_fp8_key("scale.weight")).type == "float");
  const Value history = fp8_value(state, *parse_fp8_key("amax_history.weight"));
  CHECK(history.type == "list");
  const auto& rows = std::get<PackedArray>(history.data);
  REQUIRE(rows.count() == 3);
  CHECK(std::vector<double>{rows.number_at(0), rows.number_at(1), rows.number_at(2)} == Numbers{0, 7, 56});
  try {
    fp8_value(state, *parse_fp8_key("scale.*put"));
    FAIL("two tensors were read as one");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) == "'a._extra_state': 2 of its tensors match '*put'");
    CHECK(error.hint == "tare inspect --layer shows the tensors that it has");
  }
}

TEST_CASE("a key that FP8 state does not have is wrong usage, told with the fields that it has") {
  const FoundScaler state = state_of();
  CHECK(fp8_key_of(state, "native:scale_fwd").name == "scale_fwd");
  CHECK(fp8_key_of(state, "scale_inv_fwd").name == "scale_inv_fwd");
  try {
    fp8_key_of(state, "scael");
    FAIL("a key that is not there was taken");
  } catch (const Error& error) {
    CHECK(error.status == Status::invalid_argument);
    CHECK(std::string(error.what()) == "'a._extra_state': scael is no key of its FP8 state");
    CHECK(error.hint == "scale.TENSOR, amax_history.TENSOR, or a field: scale_fwd, scale_inv_fwd, amax_history_fwd");
  }
}

TEST_CASE("a field's own name means FP8 state only where no loss scaler has that field, or layers were named") {
  Checkpoint checkpoint;
  CHECK_FALSE(is_fp8_key(checkpoint, "scale_fwd", false));
  CHECK(is_fp8_key(checkpoint, "scale.weight", false));
  checkpoint.scalers.push_back({state_of(), {}});
  CHECK(is_fp8_key(checkpoint, "scale_fwd", false));
  CHECK(is_fp8_key(checkpoint, "native:scale_fwd", false));
  CHECK_FALSE(is_fp8_key(checkpoint, "growth_interval", false));
  FoundScaler loss_scaler = state_of();
  loss_scaler.dialect = &torch_state;
  checkpoint.scalers.push_back({loss_scaler, {}});
  CHECK_FALSE(is_fp8_key(checkpoint, "scale_fwd", false));
  CHECK(is_fp8_key(checkpoint, "scale_fwd", true));
}

TEST_CASE("who names layers never edits the loss scale beside them, whatever the key is called") {
  Checkpoint checkpoint;
  FoundScaler loss_scaler = state_of();
  loss_scaler.dialect = &torch_state;
  checkpoint.scalers.push_back({loss_scaler, {}});
  for (const char* key : {"scale", "growth_interval", "scale_fwd", "scael"}) CHECK(is_fp8_key(checkpoint, key, true));
}
