// Optimizers of one chain: the first one's scale is what the loss is multiplied by.
#include "lib/checkpoint/chained.hpp"

#include "tests/catch.hpp"
#include "tests/unit/dialect/made_tree.hpp"

using namespace tare;

namespace {

NodeId with_scaler(MadeTree& made, double scale) {
  return made.map({{"grad_scaler", made.map({{"scale", made.number(scale)},
                                             {"growth_tracker", made.integer(0)},
                                             {"hysteresis_tracker", made.integer(2)}})}});
}

std::vector<Finding> told(MadeTree& made, NodeId root) {
  made.tree.root = root;
  std::vector<Finding> findings;
  std::vector<Scaler> scalers;
  for (FoundScaler& found : find_scalers(made.tree, {"model_optim_rng.pt"}, findings)) {
    scalers.push_back({std::move(found), {{}}, true, 0});
  }
  findings.clear();
  tell_of_chains(scalers, findings);
  return findings;
}

/// Of Megatron's chained optimizers, in a list.
std::vector<Finding> told_of_chain(std::initializer_list<double> scales) {
  MadeTree made;
  std::vector<NodeId> chain;
  for (const double scale : scales) chain.push_back(with_scaler(made, scale));
  return told(made, made.map({{"optimizer", made.tree.add_items(Kind::list, chain, {})}}));
}

}  // namespace

TEST_CASE("each scale of a chain that is not the first one's is told at its place, with both") {
  const auto findings = told_of_chain({1024, 64, 1024, 32});
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].code == "chained-scales-differ");
  CHECK(findings[0].severity == Severity::warning);
  CHECK(findings[0].path == "optimizer[1].grad_scaler");
  CHECK(findings[0].message ==
        "scale is 64.0, and 1024.0 in optimizer[0].grad_scaler: the loss is scaled by that, and these gradients are "
        "unscaled by 64.0");
  CHECK(findings[1].path == "optimizer[3].grad_scaler");
  CHECK(told_of_chain({64, 64, 64}).empty());
  CHECK(told_of_chain({64}).empty());
}

TEST_CASE("scalers that stand side by side without a chain's numbers are no chain") {
  MadeTree made;
  const NodeId generator = made.map({{"optimizer", with_scaler(made, 64)}});
  const NodeId critic = made.map({{"optimizer", with_scaler(made, 32)}});
  CHECK(told(made, made.map({{"generator", generator}, {"critic", critic}})).empty());
}

TEST_CASE("two chains are compared each in itself, whatever else stands in front of them") {
  MadeTree made;
  const auto chain = [&](double first, double second) {
    return made.map({{"optimizer", made.list({with_scaler(made, first), with_scaler(made, second)})}});
  };
  const auto findings = told(made, made.map({{"0", made.grad_scaler()}, {"a", chain(64, 64)}, {"b", chain(32, 16)}}));
  REQUIRE(findings.size() == 1);
  CHECK(findings.front().path == "b.optimizer[1].grad_scaler");
}
