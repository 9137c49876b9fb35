// States of tare's own, as a tree of JSON has them: what is found, what is one value twice, and what cannot be told.
#include "lib/dialect/frameworks/tare.hpp"

#include <limits>

#include "lib/state/value.hpp"
#include "tests/catch.hpp"
#include "tests/unit/dialect/made_tree.hpp"

using namespace tare;

namespace {

struct Read {
  FoundScaler scaler;
  std::vector<Finding> findings;
};

Read read(MadeTree& made, NodeId root) {
  made.tree.root = root;
  Read read;
  const FoundScalers scalers = find_scalers(made.tree, {"state.json"}, read.findings);
  if (!scalers.empty()) read.scaler = scalers.front();
  return read;
}

using Parts = std::initializer_list<std::pair<std::string_view, NodeId>>;

NodeId torch_state(MadeTree& made, Parts fields, Parts roles) {
  return made.map({{"policy", made.text("torch")},
                   {"params", made.map({{"growth_interval", made.integer(100)}})},
                   {"fields", made.map(fields)},
                   {"roles", made.map(roles)}});
}

}  // namespace

TEST_CASE("fields and parameters have the roles of their policy, and what repeats one changes along") {
  MadeTree made;
  const NodeId scale = made.number(8.0), interval = made.integer(100);
  const Read found = read(made, torch_state(made, {{"scale", made.number(8.0)}, {"_growth_tracker", made.integer(3)}},
                                            {{"scale", scale}, {"growth_interval", interval}}));
  CHECK(found.findings.empty());
  REQUIRE(is_own(found.scaler));
  REQUIRE(found.scaler.find("fields.scale") != nullptr);
  CHECK(found.scaler.find("fields.scale")->role == Role::scale);
  CHECK(found.scaler.find("fields.scale")->mirror == scale);
  CHECK(found.scaler.find("fields._growth_tracker")->role == Role::growth_tracker);
  CHECK(found.scaler.find("fields._growth_tracker")->mirror == nowhere);
  CHECK(found.scaler.find("params.growth_interval")->role == Role::growth_interval);
  CHECK(found.scaler.find("params.growth_interval")->mirror == interval);
}

TEST_CASE("a role that says something else than its field is told, and one that says it in another type is not") {
  const auto told = [](auto role) {
    MadeTree made;
    const NodeId state = torch_state(made, {{"scale", made.number(8.0)}}, {{"scale", role(made)}});
    const Read found = read(made, state);
    return found.findings.empty() ? std::string() : found.findings.front().message;
  };
  CHECK(told([](MadeTree& made) { return made.integer(8); }).empty());
  CHECK(told([](MadeTree& made) { return made.text("8.0"); }).find("roles.scale is not what") != std::string::npos);
  CHECK(told([](MadeTree& made) { return made.number(4.0); }).find("roles.scale is not what fields.scale holds") !=
        std::string::npos);
}

TEST_CASE("what is not finite is a number in words, in a field and in the role that repeats it") {
  MadeTree made;
  const Read found = read(made, torch_state(made, {{"scale", made.text("inf")}}, {{"scale", made.text("inf")}}));
  CHECK(found.findings.empty());
  REQUIRE(found.scaler.find(Role::scale) != nullptr);
  CHECK(found.scaler.find(Role::scale)->value.as_double() == std::numeric_limits<double>::infinity());
  const Read other = read(made, torch_state(made, {{"scale", made.text("-inf")}}, {{"scale", made.text("inf")}}));
  CHECK(other.findings.size() == 1);
}

TEST_CASE("numbers side by side are an array, whole where all of them are, and an empty list is no value") {
  const auto statistic = [](auto list) {
    MadeTree made;
    const NodeId state = made.map({{"policy", made.text("torch")},
                                   {"fields", made.map({{"scale", made.number(8.0)}})},
                                   {"statistics", made.map({{"steps", list(made)}})}});
    return own_state(read(made, state).scaler).statistics;
  };
  const auto whole = statistic([](MadeTree& made) { return made.list({made.integer(1), made.integer(2)}); });
  REQUIRE(whole.find("steps") != nullptr);
  CHECK(*whole.find("steps") == StateValue(StateArray{{2}, std::vector<std::int64_t>{1, 2}}));
  const auto mixed = statistic([](MadeTree& made) { return made.list({made.integer(1), made.number(2.5)}); });
  CHECK(*mixed.find("steps") == StateValue(StateArray{{2}, std::vector<double>{1, 2.5}}));
  const auto none = statistic([](MadeTree& made) { return made.list({}); });
  CHECK(*none.find("steps") == StateValue());
  const auto words = statistic([](MadeTree& made) { return made.list({made.integer(1), made.text("2")}); });
  CHECK(*words.find("steps") == StateValue());
}

TEST_CASE("a part of a state that is nothing of the kind is named") {
  MadeTree made;
  for (const std::string_view part : {"params", "fields", "roles", "statistics"}) {
    const NodeId state = made.map(
        {{"schema", made.text("tare.state/1")}, {"policy", made.text("torch")}, {part, made.list({made.number(8.0)})}});
    const Read found = read(made, state);
    REQUIRE(found.findings.size() == 1);
    CHECK(found.findings.front().message.find(std::string(part)) != std::string::npos);
  }
}
