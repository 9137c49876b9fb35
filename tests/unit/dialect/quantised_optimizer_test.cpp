#include "lib/dialect/quantised_optimizer.hpp"
#include "tests/catch.hpp"
#include "tests/unit/dialect/made_tree.hpp"

using namespace tare;

namespace {

std::string told(MadeTree& made, NodeId root) {
  made.tree.root = root;
  const auto finding = told_of_quantised_optimizer(made.tree);
  return finding ? finding->message : std::string();
}

}  // namespace

TEST_CASE("an optimizer in 8 bits is named by the keys or the class that it alone has") {
  MadeTree blocks;
  const auto of = [&](std::string_view key) { return std::pair(key, blocks.integer(1)); };
  CHECK(told(blocks, blocks.map({of("step"), of("state1"), of("qmap1"), of("absmax1")})).find("bitsandbytes") !=
        std::string::npos);
  MadeTree classes;
  const NodeId moment = classes.object("torchao.optim.subclass_8bit", "OptimState8bit", {});
  CHECK(told(classes, classes.map({{"exp_avg", moment}})).find("OptimState8bit") != std::string::npos);
}

TEST_CASE("other optimizers, and one key of the three, are not named") {
  MadeTree made;
  const auto of = [&](std::string_view key) { return std::pair(key, made.integer(1)); };
  CHECK(told(made, made.map({of("step"), of("exp_avg"), of("exp_avg_sq")})).empty());
  CHECK(told(made, made.map({of("state1"), of("state2"), of("absmax1")})).empty());
}
