#include "lib/dialect/half_moments.hpp"
#include "tests/catch.hpp"
#include "tests/unit/dialect/made_tree.hpp"

using namespace tare;

namespace {

/// Says that every tensor is of one type.
class OneType final : public TensorReader {
 public:
  explicit OneType(std::string_view type) : type_(type) {}
  [[nodiscard]] Tensor describe(NodeId) const override {
    Tensor tensor;
    tensor.type = element_type(type_);
    return tensor;
  }
  [[nodiscard]] Bytes elements(NodeId) const override { throw std::logic_error("a tensor is read"); }

 private:
  std::string_view type_;
};

bool is_told(std::string_view type, double eps) {
  MadeTree made;
  Node tensor;
  tensor.kind = Kind::tensor;
  const NodeId state = made.map({{"exp_avg_sq", made.tree.add(tensor)}});
  const NodeId group = made.map({{"eps", made.number(eps)}, {"params", made.list({made.integer(0)})}});
  made.tree.root = made.map({{"state", state}, {"param_groups", made.list({group})}});
  made.tree.install(std::make_shared<OneType>(type));
  return told_of_half_moments(made.tree).has_value();
}

}  // namespace

TEST_CASE("second moments in float16 are told where eps rounds to 0 in it, and only there") {
  CHECK(is_told("float16", 1e-8));
  CHECK(is_told("float16", 0x1p-25));          // a tie, which goes to 0
  CHECK_FALSE(is_told("float16", 0x1.1p-25));  // becomes 2^-24
  CHECK_FALSE(is_told("float16", 1e-7));
  CHECK_FALSE(is_told("float32", 1e-8));
  CHECK_FALSE(is_told("bfloat16", 1e-8));
}

TEST_CASE("moments without an eps beside them are not told") {
  MadeTree made;
  Node tensor;
  tensor.kind = Kind::tensor;
  made.tree.root = made.map({{"exp_avg_sq", made.tree.add(tensor)}});
  made.tree.install(std::make_shared<OneType>("float16"));
  CHECK_FALSE(told_of_half_moments(made.tree).has_value());
}

TEST_CASE("moments that ultralytics halves as it saves, and loads into float32, are not told") {
  for (const bool is_theirs : {true, false}) {
    MadeTree made;
    Node tensor;
    tensor.kind = Kind::tensor;
    const NodeId state = made.map({{"exp_avg_sq", made.tree.add(tensor)}});
    const NodeId group = made.map({{"eps", made.number(1e-8)}, {"params", made.list({made.integer(0)})}});
    made.tree.root = made.map({{"optimizer", made.map({{"state", state}, {"param_groups", made.list({group})}})},
                               {is_theirs ? "train_args" : "args", made.map({})},
                               {"ema", made.none()}});
    made.tree.install(std::make_shared<OneType>("float16"));
    CHECK(told_of_half_moments(made.tree).has_value() == !is_theirs);
  }
}
