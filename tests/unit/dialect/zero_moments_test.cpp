#include "lib/dialect/zero_moments.hpp"

#include "tests/catch.hpp"
#include "tests/unit/dialect/made_tree.hpp"

using namespace tare;

namespace {

/// Two elements each, zeros or not.
class Moments final : public TensorReader {
 public:
  explicit Moments(std::vector<bool> zero) : zero_(std::move(zero)) {}
  [[nodiscard]] Tensor describe(NodeId) const override {
    Tensor tensor;
    tensor.type = element_type("float16");
    tensor.shape = {2};
    return tensor;
  }
  [[nodiscard]] Bytes elements(NodeId node) const override {
    return Bytes(4, zero_.at(node) ? std::byte{0} : std::byte{1});
  }

 private:
  std::vector<bool> zero_;  // by node
};

struct Moment {
  bool zero;
  double steps;
};

/// What is told of an optimizer with these second moments, up to its advice.
std::string told(const std::vector<Moment>& moments) {
  MadeTree made;
  std::vector<bool> zero;
  for (const Moment& moment : moments) {
    Node tensor;
    tensor.kind = Kind::tensor;
    const NodeId node = made.tree.add(tensor);
    zero.resize(node + 1);
    zero[node] = moment.zero;
    made.tree.root = made.map({{"exp_avg_sq", node}, {"step", made.number(moment.steps)}});
  }
  made.tree.install(std::make_shared<Moments>(zero));
  const auto finding = told_of_zero_moments(made.tree);
  return finding ? finding->message.substr(0, finding->message.find(" that were looked at")) : "";
}

}  // namespace

TEST_CASE("second moments that are all 0 are told with the fewest steps that any of them has seen") {
  CHECK(told({{true, 30}, {true, 20}, {true, 40}}) ==
        "second moments (exp_avg_sq, float16) hold nothing but 0 after 20 steps, in all 3");
  CHECK(told({{true, 20}}) == "second moments (exp_avg_sq, float16) hold nothing but 0 after 20 steps, in all 1");
}

TEST_CASE("one moment that holds something, or none that has stepped, and nothing is told") {
  CHECK(told({{true, 20}, {false, 20}}).empty());
  CHECK(told({{false, 20}, {true, 20}}).empty());
  CHECK(told({{true, 0}}).empty());
  CHECK(told({{true, 7}, {false, 0}}) ==
        "second moments (exp_avg_sq, float16) hold nothing but 0 after 7 steps, in all 1");
  CHECK(told({}).empty());
}
