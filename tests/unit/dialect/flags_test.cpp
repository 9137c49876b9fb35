// What is passed to a framework for what it takes from its configuration.
#include <vector>

#include "lib/dialect/flags.hpp"
#include "lib/dialect/frameworks/frameworks.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

using Values = std::vector<ToldValue>;

StateValue whole(std::int64_t number) {
  return number;
}

}  // namespace

TEST_CASE("flags are spelled as the framework reads them") {
  const Values window = {{Role::growth_interval, {}, whole(500)}};
  CHECK(flags_for(megatron_state, Values{{Role::growth_interval, {}, whole(500)}, {Role::hysteresis, {}, whole(4)}}) ==
        "--loss-scale-window 500 --hysteresis 4");
  CHECK(flags_for(deepspeed_part, Values{{Role::min_scale, {}, 0.5}}) == "\"fp16\": {\"min_loss_scale\": 0.5}");
  CHECK(flags_for(keras_variables, window) == "LossScaleOptimizer(..., dynamic_growth_steps=500)");
  CHECK(flags_for(mindspore_cell, window) == "DynamicLossScaleUpdateCell(..., scale_window=500)");
  CHECK(flags_for(flax_state, Values{{Role::growth_interval, {}, whole(500)}, {Role::backoff_factor, {}, 0.25}}) ==
        "DynamicScale(growth_interval=500, backoff_factor=0.25)");
}

TEST_CASE("what a framework cannot be told is no flag") {
  CHECK(flags_for(megatron_state, Values{{Role::growth_factor, {}, 3.0}}).empty());
  CHECK(flags_for(torch_state, Values{{Role::growth_interval, {}, whole(500)}}).empty());
  CHECK(flags_for(megatron_state, Values{}).empty());
}

TEST_CASE("every flag is of a role that its dialect says it does not store") {
  for (const Dialect* dialect : dialects()) {
    for (const RoleFacts& row : roles()) {
      if (flags_for(*dialect, Values{{row.role, {}, whole(1)}}).empty()) continue;
      INFO(dialect->name << " " << name(row.role));
      bool is_of_one = false;  // DeepSpeed's and apex's states differ in what they store
      for (const Dialect* other : dialects()) {
        if (other->name != dialect->name) continue;
        for (const Setting& setting : other->settings) is_of_one = is_of_one || setting.role == row.role;
      }
      CHECK(is_of_one);
    }
  }
}
