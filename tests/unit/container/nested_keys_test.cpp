// Flattened keys of a checkpoint become the maps that they come from.
#include "lib/container/nested_keys.hpp"
#include "tests/catch.hpp"

#include <string>
#include <string_view>
#include <vector>

using namespace tare;

namespace {

NodeId number(Tree& tree, std::size_t value) {
  return tree.add_side_text(Kind::string, std::to_string(value), {});
}

/// "{a: 1, b: {c: 2}}"
std::string text_of(const Tree& tree, NodeId node) {
  if (tree.kind(node) == Kind::string) return std::string(tree.text(node));
  std::string text;
  const auto pairs = tree.items(node);
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    text += (text.empty() ? "" : ", ") + std::string(tree.text(pairs[i])) + ": " + text_of(tree, pairs[i + 1]);
  }
  return "{" + text + "}";
}

std::string nested(const std::vector<std::string_view>& keys) {
  Tree tree;
  NestedKeys all(tree);
  std::size_t next = 1;
  for (const std::string_view key : keys) all.add(key, number(tree, next++));
  tree.root = all.write();
  return text_of(tree, tree.root);
}

}  // namespace

TEST_CASE("keys of one map stand in it in the order in which they came, however far apart that was") {
  CHECK(nested({"a.x", "b.x", "a.y", "c", "b.y", "a.z"}) == "{c: 4, a: {x: 1, y: 3, z: 6}, b: {x: 2, y: 5}}");
}

TEST_CASE("maps of one name in different maps are different ones") {
  CHECK(nested({"a.m.x", "b.m.x", "a.m.y", "m.x"}) == "{a: {m: {x: 1, y: 3}}, b: {m: {x: 2}}, m: {x: 4}}");
}

TEST_CASE("a value whose key is the beginning of others' stands beside their map") {
  CHECK(nested({"a", "a.x", "a.y"}) == "{a: 1, a: {x: 2, y: 3}}");
}

TEST_CASE("empty names between dots are names, and dots behind a slash are none of the state's") {
  CHECK(nested({"a..x", ".y", "rng/shard_0.1_1.2"}) == "{rng/shard_0.1_1.2: 3, a: {: {x: 1}}, : {y: 2}}");
}

TEST_CASE("no keys make an empty map") {
  CHECK(nested({}) == "{}");
}

TEST_CASE("a thousand maps that come by turns are found again") {
  Tree tree;
  NestedKeys all(tree);
  std::vector<std::string> keys;
  for (const char* leaf : {"weight", "bias"}) {
    for (int i = 0; i < 1000; ++i) keys.push_back("layers." + std::to_string(i) + "." + leaf);
  }
  for (std::size_t i = 0; i < keys.size(); ++i) all.add(keys[i], number(tree, i));
  tree.root = all.write();
  const NodeId layers = tree.find(tree.root, "layers");
  REQUIRE(tree.items(layers).size() == 2000);
  for (int i = 0; i < 1000; ++i) {
    const NodeId layer = tree.find(layers, std::to_string(i));
    REQUIRE(tree.items(layer).size() == 4);
    CHECK(tree.text(tree.find(layer, "weight")) == std::to_string(i));
    CHECK(tree.text(tree.find(layer, "bias")) == std::to_string(1000 + i));
  }
}
