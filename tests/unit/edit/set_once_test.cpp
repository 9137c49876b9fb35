// FP8 values that two assignments of one edit would both set: refused by the plan, in every format.
#include "lib/edit/set_once.hpp"

#include "lib/base/error.hpp"
#include "lib/edit/plan.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

using namespace tare;

namespace {

const std::string corpus = TARE_TEST_DATA "/corpus/";
const std::string te = corpus + "transformer_engine/te1.13_4layers/model.pt";

EditRequest setting(std::vector<Assignment> values, std::string layer) {
  EditRequest request;
  request.action = Assign{std::move(values)};
  request.layer = std::move(layer);
  request.force = true;
  return request;
}

/// What the plan is refused with; an error with status ok where it is not.
Error refusal_of(const std::string& path, std::vector<Assignment> values, std::string layer = "*") {
  try {
    plan_edit(open_checkpoint(path, {}), setting(std::move(values), std::move(layer)));
  } catch (const Error& error) {
    return error;
  }
  return Error(Status::ok, "");
}

}  // namespace

TEST_CASE("an element of FP8 state that is given twice is refused with both, whatever they are called") {
  const auto both = [](std::vector<Assignment> values) {
    const Error error = refusal_of(te, std::move(values), "layers.0");
    CHECK(error.status == Status::invalid_argument);
    return std::string(error.what());
  };
  CHECK(both({{"scale.input", "4"}, {"scale.input", "5"}}) ==
        "'layers.0._extra_state': scale.input=4 and scale.input=5 both set element 0 of scale_fwd");
  CHECK(both({{"scale.input", "4"}, {"scale.input", "4"}}) ==
        "'layers.0._extra_state': scale.input=4 and scale.input=4 both set element 0 of scale_fwd");
  CHECK(both({{"scale.weight", "4"}, {"scale_fwd", "5"}}) ==
        "'layers.0._extra_state': scale.weight=4 and scale_fwd=5 both set element 1 of scale_fwd");
  CHECK(both({{"scale.*", "4"}, {"scale.grad_output", "5"}}) ==
        "'layers.0._extra_state': scale.*=4 and scale.grad_output=5 both set element 0 of scale_bwd");
  CHECK(both({{"scale.input", "4"}, {"native:scale_inv_fwd", "5"}}).ends_with("both set element 0 of scale_fwd"));
  CHECK(both({{"amax_history.in*", "0"}, {"amax_history.input", "1"}})
            .ends_with("both set element 0 of amax_history_fwd"));
}

TEST_CASE("a number of the recipe that is given twice is refused by its name") {
  const Error error = refusal_of(corpus + "transformer_engine/te2.20_delayed/model.pt",
                                 {{"recipe.margin", "1"}, {"native:recipe.margin", "2"}}, "layers.1");
  CHECK(error.status == Status::invalid_argument);
  CHECK(std::string(error.what()) ==
        "'layers.1._extra_state': recipe.margin=1 and native:recipe.margin=2 both set recipe.margin");
}

TEST_CASE("no format takes the last of two values of one scale, or breaks off in its writer") {
  for (const char* path :
       {"transformer_engine/te1.0_plain", "transformer_engine/te2.20_delayed", "transformer_engine/te2.20_dcp",
        "transformer_engine/te2.20_safetensors", "msamp/adamw", "mindspeed/quant_states_fp8", "coat/fp8_adamw",
        "torchao/delayed_0_9", "flax/fp8_to_bytes", "flax/fp8_orbax", "maxtext/scanned_layers"}) {
    CAPTURE(path);
    const Error error = refusal_of(corpus + path, {{"scale.*", "4"}, {"scale.*", "8"}});
    CHECK(error.status == Status::invalid_argument);
    CHECK(std::string(error.what()).find(": scale.*=4 and scale.*=8 both set ") != std::string::npos);
  }
}

TEST_CASE("several tensors' values in one edit are no contradiction, and each is planned") {
  const Checkpoint checkpoint = open_checkpoint(te, {});
  const auto request = setting({{"scale.input", "4"}, {"scale.weight", "4"}, {"amax_history.input", "0"}}, "layers.0");
  const EditPlan plan = plan_edit(checkpoint, request);
  CHECK(plan.fields.size() == 3);
  CHECK(plan.files.size() == 1);
}
