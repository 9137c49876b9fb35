// What differs between the scalers of two checkpoints: by place, or where each side has one more of a kind.
#include "lib/checkpoint/difference.hpp"

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/unit/dialect/made_tree.hpp"

using namespace tare;

namespace {

using Items = std::vector<std::pair<std::string_view, NodeId>>;

/// What a file of these items under the root leads to.
Checkpoint holding(MadeTree& made, const Items& items) {
  std::vector<NodeId> pairs;
  for (const auto& [key, value] : items) {
    pairs.push_back(made.text(key));
    pairs.push_back(value);
  }
  made.tree.root = made.tree.add_items(Kind::map, pairs, {});
  Checkpoint checkpoint;
  for (FoundScaler& found : find_scalers(made.tree, {"model.pt"}, checkpoint.findings)) {
    checkpoint.scalers.push_back({std::move(found), {{}}, true, 0});
  }
  return checkpoint;
}

Checkpoint torch_at(std::initializer_list<std::pair<std::string_view, double>> scalers) {
  MadeTree made;
  Items items;
  for (const auto& [key, scale] : scalers) items.emplace_back(key, made.grad_scaler(scale));
  return holding(made, items);
}

std::string side(const std::optional<Value>& value) {
  if (!value) return "none";
  return value->number() == nullptr ? value->type : fmt::format("{}", value->as_double());
}

/// "PLACE FIELD: A -> B"; without a field, of a whole scaler.
std::vector<std::string> told(const Checkpoint& a, const Checkpoint& b) {
  std::vector<std::string> lines;
  for (const Difference& one : differences(a, b)) {
    const std::string field = one.field.empty() ? "" : " " + one.field;
    lines.push_back(fmt::format("{}{}: {} -> {}", one.path, field, side(one.a), side(one.b)));
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("scalers are compared with those of their place, each field by its value and kind") {
  const Checkpoint a = torch_at({{"gan", 1024}, {"critic", 8}}), b = torch_at({{"critic", 16}, {"gan", 1024}});
  CHECK(told(a, a).empty());
  CHECK(told(a, b) == Lines{"critic scale: 8 -> 16"});
  CHECK(told(b, a) == Lines{"critic scale: 16 -> 8"});
}

TEST_CASE("one more scaler of a kind on each side are compared though their places differ") {
  const Checkpoint a = torch_at({{"scaler", 4}, {"gan", 1}}), b = torch_at({{"gan", 1}, {"grad_scaler", 2}});
  CHECK(told(a, b) == Lines{"scaler scale: 4 -> 2"});
}

TEST_CASE("scalers that are alone on their side are told as a whole, and none is guessed among several") {
  const Checkpoint none = torch_at({}), one = torch_at({{"a", 4}}), two = torch_at({{"b", 4}, {"c", 4}});
  CHECK(told(none, one) == Lines{"a: none -> torch"});
  CHECK(told(one, none) == Lines{"a: torch -> none"});
  CHECK(told(one, two) == Lines{"a: torch -> none", "b: none -> torch", "c: none -> torch"});
  CHECK(told(two, one) == Lines{"b: torch -> none", "c: torch -> none", "a: none -> torch"});
}

TEST_CASE("scalers of two kinds are never compared, at one place or at two") {
  MadeTree made;
  const auto apex = [&](std::string_view key) {
    const NodeId scaler = made.map({{"loss_scale", made.number(4.0)}, {"unskipped", made.integer(3)}});
    return holding(made, {{key, made.map({{"loss_scaler0", scaler}})}});
  };
  CHECK(told(torch_at({{"amp", 4}}), apex("amp")) == Lines{"amp: torch -> none", "amp.loss_scaler0: none -> apex"});
}

TEST_CASE("a field that one side alone has is told with nothing on the other") {
  const auto with = [](std::string_view key, bool has_it) {
    MadeTree made;
    const NodeId scaler = has_it ? made.map({{"scale", made.number(8.0)},
                                             {"growth_factor", made.number(2.0)},
                                             {"backoff_factor", made.number(0.5)},
                                             {"growth_interval", made.integer(2000)},
                                             {"_growth_tracker", made.integer(5)},
                                             {key, made.integer(3)}})
                                 : made.grad_scaler(8.0);
    return holding(made, {{"scaler", scaler}});
  };
  CHECK(told(with("more", true), with("more", false)) == Lines{"scaler more: 3 -> none"});
  CHECK(told(with("more", false), with("more", true)) == Lines{"scaler more: none -> 3"});
  CHECK(told(with("more", true), with("other", true)) == Lines{"scaler more: 3 -> none", "scaler other: none -> 3"});
}

TEST_CASE("copies that disagree are one place, which its first entry stands for") {
  Checkpoint a = torch_at({{"scaler", 4}});
  const Checkpoint other = torch_at({{"scaler", 2}});
  a.scalers.push_back(other.scalers.front());
  CHECK(told(a, torch_at({{"scaler", 4}})).empty());
  CHECK(told(torch_at({{"scaler", 1}}), a) == Lines{"scaler scale: 1 -> 4"});
}
