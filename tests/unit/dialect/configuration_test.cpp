// Configuration that was saved beside a state: where it is looked for, and what is taken of it.
#include "lib/dialect/configuration.hpp"

#include <algorithm>

#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/policy.hpp"
#include "lib/state/policy_value.hpp"
#include "tests/catch.hpp"
#include "tests/unit/dialect/made_tree.hpp"

using namespace tare;

namespace {

NodeId megatron_state_of(MadeTree& made) {
  return made.map({{"grad_scaler", made.map({{"scale", made.number(32768.0)},
                                             {"growth_tracker", made.integer(12)},
                                             {"hysteresis_tracker", made.integer(0)}})}});
}

NodeId megatron_args(MadeTree& made, NodeId window) {
  const NodeId attributes = made.map({{"loss_scale", made.none()},
                                      {"loss_scale_window", window},
                                      {"hysteresis", made.integer(3)},
                                      {"min_loss_scale", made.number(0.5)}});
  return made.object("argparse", "Namespace", attributes);
}

FoundScaler only(const Tree& tree, const FileContext& file) {
  std::vector<Finding> findings;
  const auto scalers = find_scalers(tree, file, findings);
  REQUIRE(scalers.size() == 1);
  return scalers.front();
}

const ConfiguredValue* find(const FoundScaler& scaler, std::string_view key) {
  const auto found = std::find_if(scaler.configuration.begin(), scaler.configuration.end(),
                                  [&](const ConfiguredValue& value) { return value.key == key; });
  return found == scaler.configuration.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("Megatron's arguments tell what its state does not: shown, and run with") {
  MadeTree made;
  made.tree.root = made.map({{"args", megatron_args(made, made.number(40.0))}, {"optimizer", megatron_state_of(made)}});
  const FoundScaler scaler = only(made.tree, {"mp_rank_00/model_optim_rng.pt"});
  REQUIRE(find(scaler, "growth_interval") != nullptr);
  CHECK(find(scaler, "growth_interval")->from == "args.loss_scale_window");
  CHECK(scaler.configuration.size() == 3);
  const ScalerState state = to_state(scaler);
  CHECK(get(state, "growth_interval") == StateValue(std::int64_t{40}));
  CHECK(get(state, "hysteresis") == StateValue(std::int64_t{3}));
  CHECK(get(state, "min_scale") == StateValue(0.5));
}

TEST_CASE("the nearest configuration counts: that of a common state inside a distributed checkpoint") {
  MadeTree made;
  const NodeId inner =
      made.map({{"args", megatron_args(made, made.integer(70))}, {"optimizer", megatron_state_of(made)}});
  made.tree.root =
      made.map({{"common_state/shard_0_1", made.list({inner})}, {"args", megatron_args(made, made.integer(5))}});
  const FoundScaler scaler = only(made.tree, {".metadata"});
  CHECK(find(scaler, "growth_interval")->value.as_double() == 70);
  CHECK(find(scaler, "growth_interval")->from == "common_state/shard_0_1[0].args.loss_scale_window");
  const auto saved = find_configurations(made.tree);
  REQUIRE_FALSE(saved.empty());
  CHECK(saved.front().places == megatron_state.configuration);
}

TEST_CASE("a configuration is looked for in a list of one, and in no list of several or of none") {
  const auto common = [](std::size_t count) {
    MadeTree made;
    const NodeId inner = made.map({{"args", megatron_args(made, made.integer(70))}});
    const NodeId listed = made.tree.add_items(Kind::list, std::vector(count, inner), {});
    made.tree.root = made.map({{"common_state/shard_0_1", listed}, {"optimizer", megatron_state_of(made)}});
    return only(made.tree, {".metadata"}).configuration.size();
  };
  CHECK(common(1) == 3);
  CHECK(common(2) == 0);
  CHECK(common(0) == 0);
}

TEST_CASE("what the state stores comes before DeepSpeed's configuration, and \"auto\" is no number") {
  MadeTree made;
  const NodeId optimizer = made.map({{"dynamic_loss_scale", made.flag(true)},
                                     {"cur_scale", made.number(4096.0)},
                                     {"cur_iter", made.integer(5)},
                                     {"last_overflow_iter", made.integer(-1)},
                                     {"scale_factor", made.number(2.0)},
                                     {"scale_window", made.integer(500)}});
  const NodeId fp16 = made.map({{"loss_scale_window", made.integer(9)},
                                {"hysteresis", made.text("auto")},
                                {"min_loss_scale", made.number(0.25)}});
  made.tree.root = made.map({{"optimizer", optimizer}, {"ds_config", made.map({{"fp16", fp16}})}});
  const FoundScaler scaler = only(made.tree, {"mp_rank_00_model_states.pt"});
  REQUIRE(scaler.configuration.size() == 1);
  CHECK(scaler.configuration.front().from == "ds_config.fp16.min_loss_scale");
  CHECK(get(to_state(scaler), "scale_window") == StateValue(std::int64_t{500}));
  CHECK(get(to_state(scaler), "min_scale") == StateValue(0.25));
}

TEST_CASE("a number that no window can be is shown and not run with") {
  MadeTree made;
  made.tree.root = made.map({{"args", megatron_args(made, made.number(40.5))}, {"optimizer", megatron_state_of(made)}});
  const FoundScaler scaler = only(made.tree, {"model_optim_rng.pt"});
  CHECK(find(scaler, "growth_interval")->value.as_double() == 40.5);
  CHECK(find(to_state(scaler), "params.growth_interval") == nullptr);
}

TEST_CASE("fairseq's configuration has values that no role stands for") {
  MadeTree made;
  const NodeId common = made.map({{"fp16_scale_window", made.none()},
                                  {"fp16_scale_tolerance", made.number(0.25)},
                                  {"min_loss_scale", made.number(0.01)}});
  made.tree.root = made.map({{"cfg", made.map({{"common", common}})},
                             {"last_optimizer_state", made.map({{"loss_scale", made.number(128.0)}})}});
  const ScalerState state = to_state(only(made.tree, {"checkpoint_last.pt"}));
  CHECK(get(state, "tolerance") == StateValue(0.25));
  CHECK(get(state, "min_loss_scale") == StateValue(0.01));
  CHECK(find(state, "scale_window") == nullptr);
}

namespace {

FoundScaler openmmlab(MadeTree& made, std::string_view key, std::string_view text, double scale) {
  const NodeId state = made.map({{"loss_scaler", made.grad_scaler(scale)}});
  const NodeId meta =
      key == "config" ? made.map({{"config", made.text(text)}, {"fp16", state}}) : made.map({{"cfg", made.text(text)}});
  made.tree.root = key == "config" ? made.map({{"meta", meta}}) : made.map({{"meta", meta}, {"optimizer", state}});
  return only(made.tree, {"epoch_1.pth"});
}

}  // namespace

TEST_CASE(
    "a static scale that OpenMMLab's configuration sets after each step does not grow, and an edit is warned of") {
  for (const auto& [key, text] :
       {std::pair{"config", "lr = 0.1\nfp16 = dict(loss_scale=512.)\n"},
        std::pair{"config",
                  "optimizer_config = dict(\n    type='Fp16OptimizerHook', loss_scale=512.0)\nfp16 = dict()\n"},
        std::pair{"cfg", "optim_wrapper = dict(\n    loss_scale=512.0,\n    type='AmpOptimWrapper')\n"},
        std::pair{"cfg", "optim_wrapper = {'type': 'AmpOptimWrapper', 'loss_scale': 512.0}"}}) {
    INFO(text);
    MadeTree made;
    const FoundScaler kept = openmmlab(made, key, text, 512);
    REQUIRE(static_scale(kept) != nullptr);
    CHECK(growth_outlook(kept).sentence.starts_with("static: set to 512.0 after each step"));
    CHECK(judge(kept).empty());
    MadeTree other;
    const auto findings = judge(openmmlab(other, key, text, 8));
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].code == "scale-set-anew");
    CHECK(findings[0].message.starts_with("scale 8.0 lasts one step"));
  }
}

TEST_CASE("a scale that moves by OpenMMLab's configuration, or of which it says nothing sure, is not called static") {
  for (const auto& [key, text] :
       {std::pair{"config", "fp16 = dict(loss_scale='dynamic')\n"},
        std::pair{"config", "fp16 = dict(loss_scale=dict(init_scale=512., mode='dynamic'))\n"},
        std::pair{"config", "other = dict(loss_scale=512.)\n"}, std::pair{"config", "fp16 = dict(loss_scale=512)\n"},
        std::pair{"config", "fp16 = dict(my_loss_scale=512.)\n"}, std::pair{"config", "fp16 = dict(loss_scale"},
        std::pair{"cfg", "optim_wrapper = dict(\n    a=dict(loss_scale=1.0),\n    b=dict(loss_scale='dynamic'))\n"}}) {
    INFO(text);
    MadeTree made;
    const FoundScaler found = openmmlab(made, key, text, 512);
    CHECK(static_scale(found) == nullptr);
    CHECK(growth_outlook(found).clean_steps == 1995);
  }
}
