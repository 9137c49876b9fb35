// Which policy and variant a found state goes on with.
#include "lib/dialect/policy.hpp"

#include <string>

#include "lib/state/policy_value.hpp"
#include "tests/catch.hpp"
#include "tests/unit/dialect/made_tree.hpp"

using namespace tare;

namespace {

/// The scaler of DeepSpeed's file without ZeRO, where the optimizer keeps its weights under that key.
FoundScaler scaler_beside(std::string_view weights, bool is_dynamic) {
  MadeTree made;
  const NodeId optimizer = made.map({{"dynamic_loss_scale", made.flag(is_dynamic)},
                                     {"cur_scale", made.number(4096.0)},
                                     {"cur_iter", made.integer(5)},
                                     {weights, made.list({})}});
  made.tree.root = made.map({{"optimizer", optimizer}, {"ds_version", made.text("0.19.8")}});
  std::vector<Finding> findings;
  const auto scalers = find_scalers(made.tree, {"mp_rank_00_model_states.pt"}, findings);
  REQUIRE(scalers.size() == 1);
  return scalers.front();
}

}  // namespace

TEST_CASE("the key of its weights tells DeepSpeed's unfused optimizer from the fused one") {
  const auto policy = [](std::string_view weights, bool is_dynamic) {
    return full_name(*policy_of(to_state(scaler_beside(weights, is_dynamic))));
  };
  for (const bool is_dynamic : {true, false}) {
    CHECK(policy("fp32_groups", is_dynamic) == "deepspeed unfused");
    CHECK(policy("fp32_groups_flat", is_dynamic) == "deepspeed fused");
    CHECK(policy("of_a_release_to_come", is_dynamic) == "deepspeed fused");
  }
}

TEST_CASE("a key that tells the variant is no field of the state") {
  const FoundScaler scaler = scaler_beside("fp32_groups", false);
  CHECK(scaler.fields.size() == 3);
  CHECK(to_state(scaler).other.empty());
}
