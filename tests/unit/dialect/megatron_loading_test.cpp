// What Megatron's loading says of checkpoints in its two formats: the whole of a file, and an item among others.
#include "lib/dialect/frameworks/frameworks.hpp"
#include "tests/catch.hpp"
#include "tests/unit/dialect/made_tree.hpp"

using namespace tare;

namespace {

std::vector<Finding> told(MadeTree& made, NodeId root, std::string_view file) {
  made.tree.root = root;
  return megatron_state.tell_loading(made.tree, file);
}

NodeId scaler(MadeTree& made) {
  return made.map(
      {{"scale", made.number(8.0)}, {"growth_tracker", made.integer(0)}, {"hysteresis_tracker", made.integer(2)}});
}

/// A run in float16, with an optimizer or several.
NodeId state_of(MadeTree& made, NodeId optimizer) {
  return made.map({{"args", made.map({{"fp16", made.flag(true)}})}, {"optimizer", optimizer}});
}

NodeId without_scaler(MadeTree& made) {
  return made.map({{"optimizer", made.map({})}});
}

NodeId with_scaler(MadeTree& made) {
  return made.map({{"optimizer", made.map({})}, {"grad_scaler", scaler(made)}});
}

std::vector<std::string> paths(const std::vector<Finding>& findings) {
  std::vector<std::string> all;
  for (const Finding& one : findings) all.push_back(one.path);
  return all;
}

}  // namespace

TEST_CASE("what all ranks load of a distributed checkpoint is told of, wherever it stands among the items") {
  MadeTree made;
  const NodeId items = made.map({{"model.weight", made.number(1.0)},
                                 {"common_state/shard_0_2", made.list({state_of(made, without_scaler(made))})},
                                 {"rng_state/shard_0_1", made.list({made.number(2.0)})},
                                 {"common_state/shard_1_2", made.list({state_of(made, without_scaler(made))})}});
  const auto findings = told(made, items, "iter_0000004/.metadata");
  CHECK(paths(findings) ==
        std::vector<std::string>{"common_state/shard_0_2[0].optimizer", "common_state/shard_1_2[0].optimizer"});
  CHECK(findings.front().code == "grad-scaler-missing");
  CHECK(told(made, items, "iter_0000004/other.pt").empty());
}

TEST_CASE("an item that is no list of one state is nobody's common state") {
  MadeTree made;
  const NodeId state = state_of(made, without_scaler(made));
  CHECK(told(made, made.map({{"common_state/shard_0_1", state}}), ".metadata").empty());
  CHECK(told(made, made.map({{"common_state/shard_0_1", made.list({state, state})}}), ".metadata").empty());
  CHECK(told(made, made.list({state}), ".metadata").empty());
}

TEST_CASE("where each data-parallel group keeps a scaler of its own, none is missed in the common state") {
  MadeTree made;
  const NodeId common = made.list({state_of(made, without_scaler(made))});
  const auto beside = [&](std::string_view key) {
    return told(made, made.map({{"optimizer", made.map({{key, made.map({})}})}, {"common_state/shard_0_1", common}}),
                ".metadata");
  };
  CHECK(beside("distributed").empty());
  CHECK(beside("state").size() == 1);
}

TEST_CASE("each optimizer of a chain is told of by its place, and one that holds nothing is passed over") {
  MadeTree made;
  const NodeId listed = made.list({with_scaler(made), without_scaler(made), made.map({}), without_scaler(made)});
  CHECK(paths(told(made, state_of(made, listed), "common.pt")) ==
        std::vector<std::string>{"optimizer[1]", "optimizer[3]"});
  MadeTree numbered;
  const std::array pairs{numbered.integer(0),   without_scaler(numbered), numbered.integer(1),
                         with_scaler(numbered), numbered.integer(2),      without_scaler(numbered)};
  const NodeId chain = numbered.tree.add_items(Kind::map, pairs, {});
  CHECK(paths(told(numbered, state_of(numbered, chain), "model_optim_rng.pt")) ==
        std::vector<std::string>{"optimizer.0", "optimizer.2"});
}

TEST_CASE("a missing scaler is told with the scale that the run starts anew from, and the steps that it skips") {
  const auto starting_at = [](double scale, std::int64_t hysteresis) {
    MadeTree made;
    const NodeId args = made.map({{"fp16", made.flag(true)},
                                  {"initial_loss_scale", made.number(scale)},
                                  {"hysteresis", made.integer(hysteresis)}});
    const auto findings =
        told(made, made.map({{"args", args}, {"optimizer", without_scaler(made)}}), "model_optim_rng.pt");
    REQUIRE(findings.size() == 1);
    CHECK(findings.front().severity == Severity::warning);
    return findings.front().message.substr(findings.front().message.find("starts anew"));
  };
  CHECK(starting_at(4294967296.0, 2) == "starts anew at 2^32: 17 skipped steps to 2^16");
  CHECK(starting_at(131072.0, 4) == "starts anew at 2^17: 4 skipped steps to 2^16");
  CHECK(starting_at(65536.0, 4) == "starts anew at 2^16");
  CHECK(starting_at(1000.0, 2) == "starts anew at 1000.0");
}

TEST_CASE("an optimizer under its old key is told of, and one that has both keys is not") {
  MadeTree made;
  const NodeId old = made.map({{"optimizer_state_dict", made.map({})}, {"grad_scaler", scaler(made)}});
  const auto findings = told(made, state_of(made, old), "model_optim_rng.pt");
  REQUIRE(findings.size() == 1);
  CHECK(findings.front().code == "optimizer-under-old-key");
  const NodeId both =
      made.map({{"optimizer", made.map({})}, {"optimizer_state_dict", made.map({})}, {"grad_scaler", scaler(made)}});
  CHECK(told(made, state_of(made, both), "model_optim_rng.pt").empty());
}

TEST_CASE("a scaler that the run does not load is told of by why it does not") {
  const auto run = [](std::initializer_list<std::pair<std::string_view, double>> arguments) {
    MadeTree made;
    std::vector<NodeId> pairs;
    for (const auto& [key, value] : arguments) {
      pairs.push_back(made.text(key));
      pairs.push_back(made.number(value));
    }
    const NodeId args = made.tree.add_items(Kind::map, pairs, {});
    const auto findings =
        told(made, made.map({{"args", args}, {"optimizer", with_scaler(made)}}), "model_optim_rng.pt");
    return findings.empty() ? std::string() : findings.front().code + ": " + findings.front().message;
  };
  CHECK(run({{"fp16", 1}}).empty());
  CHECK(run({}).empty());
  CHECK(run({{"fp16", 1}, {"loss_scale", 0}}).empty());
  const std::string skipped = "grad-scaler-skipped: this run does not load the scaler that is saved: it ";
  CHECK(run({{"fp16", 1}, {"loss_scale", 64}}) == skipped + "stays at its --loss-scale 64.0");
  CHECK(run({{"bf16", 1}}).starts_with(skipped + "says \"***WARNING*** fould the grad scaler"));
  CHECK(run({{"fp16", 0}}).starts_with(skipped + "says \"***WARNING*** fould the grad scaler"));
}
