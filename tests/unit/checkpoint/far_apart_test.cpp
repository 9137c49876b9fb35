// Scales of one checkpoint that no two losses of one model would have.
#include "lib/checkpoint/far_apart.hpp"

#include <limits>

#include "tests/catch.hpp"
#include "tests/unit/dialect/made_tree.hpp"

using namespace tare;

namespace {

/// Of scalers of torch's, at a, b, c ... by their scales.
std::vector<Finding> told(std::initializer_list<double> scales) {
  MadeTree made;
  std::vector<NodeId> pairs;
  std::string key = "a";
  for (const double scale : scales) {
    pairs.push_back(made.text(key));
    pairs.push_back(made.grad_scaler(scale));
    ++key[0];
  }
  made.tree.root = made.tree.add_items(Kind::map, pairs, {});
  std::vector<Finding> findings;
  std::vector<Scaler> scalers;
  for (FoundScaler& found : find_scalers(made.tree, {"model.pt"}, findings)) {
    scalers.push_back({std::move(found), {{}}, true, 0});
  }
  tell_of_scales_far_apart(scalers, findings);
  return findings;
}

}  // namespace

TEST_CASE("the two scales that are farthest apart are told, at the lesser one's place, in octaves") {
  const auto findings = told({64, 65536, 2, 4096});
  REQUIRE(findings.size() == 1);
  CHECK(findings.front().code == "scales-far-apart");
  CHECK(findings.front().severity == Severity::note);
  CHECK(findings.front().message == "scale is 2.0, and 65536.0 in b: 15 octaves apart");
  CHECK(findings.front().path == "c");
}

TEST_CASE("a thousandfold and a bit is far apart, and less is not") {
  CHECK(told({1, 1024}).size() == 1);
  CHECK(told({1, 1023}).empty());
  CHECK(told({32768}).empty());
}

TEST_CASE("a scale that is broken by itself is not held against another") {
  CHECK(told({0, 65536}).empty());
  CHECK(told({-1, 65536}).empty());
  CHECK(told({2, std::numeric_limits<double>::infinity()}).empty());
  CHECK(told({2, std::numeric_limits<double>::quiet_NaN()}).empty());
  CHECK(told({0, 2, 65536}).size() == 1);
}

TEST_CASE("copies of one scaler that disagree are told of as that, and not as scales far apart") {
  MadeTree made;
  std::vector<Finding> findings;
  std::vector<Scaler> scalers;
  for (const double scale : {2.0, 65536.0}) {
    made.tree.root = made.map({{"scaler", made.grad_scaler(scale)}});
    scalers.push_back({find_scalers(made.tree, {"model.pt"}, findings).front(), {{}}, false, 0});
  }
  tell_of_scales_far_apart(scalers, findings);
  CHECK(findings.empty());
}
