// States of tare's own, as a tree of JSON has them: what is found, what is one value twice, and what cannot be told.
#include "lib/dialect/frameworks/tare.hpp"

#include <cmath>
#include <limits>

#include "lib/dialect/fp8_slots.hpp"
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

/// Of two slots, of which the second is of gradients.
NodeId fp8_state(MadeTree& made, NodeId scales, NodeId rows) {
  const NodeId formats = made.list({made.text("e4m3"), made.text("e5m2")});
  const NodeId names = made.list({made.text("l/input"), made.text("l/grad_output")});
  return made.map({{"schema", made.text("tare.state/1")},
                   {"policy", made.text("transformer_engine")},
                   {"params", made.map({{"slots", names}, {"format", formats}})},
                   {"fields", made.map({{"scale", scales}, {"amax_history", rows}})}});
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

TEST_CASE("FP8 state of tare's own has a slot for each scale, with what its rows and its parameters say of it") {
  MadeTree made;
  const NodeId rows =
      made.list({made.list({made.number(1.0), made.integer(2)}), made.list({made.text("inf"), made.text("nan")})});
  const Read found = read(made, fp8_state(made, made.list({made.number(8.0), made.integer(4)}), rows));
  CHECK(found.findings.empty());
  REQUIRE(is_own(found.scaler));
  const auto slots = fp8_slots(found.scaler);
  REQUIRE(slots.size() == 2);
  CHECK(slots[0].multiplier() == 8);
  CHECK(slots[1].multiplier() == 4);
  REQUIRE(slots[0].history_length() == 2);
  CHECK(slots[0].stored_amax(0) == 1);
  CHECK(slots[0].stored_amax(1) == 2);
  CHECK(slots[1].stored_amax(0) == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(slots[1].stored_amax(1)));
  CHECK(slots[0].format_max == 448);
  CHECK(slots[1].format_max == 57344);
}

TEST_CASE("FP8 state of tare's own whose fields are missing, or no rows of numbers, is told and not guessed") {
  const auto told = [](auto scale, auto history) {
    MadeTree made;
    const NodeId scales = scale(made), rows = history(made);
    const Read found = read(made, fp8_state(made, scales, rows));
    return found.findings.empty() ? std::string() : found.findings.front().message;
  };
  const auto scales = [](MadeTree& made) { return made.list({made.number(8.0), made.number(4.0)}); };
  const auto rows_of = [](std::size_t first, std::size_t second) {
    return [=](MadeTree& made) {
      const auto row = [&](std::size_t length) {
        return made.tree.add_items(Kind::list, std::vector(length, made.number(1.0)), {});
      };
      return made.list({row(first), row(second)});
    };
  };
  CHECK(told(scales, rows_of(2, 2)).empty());
  CHECK_THAT(told(scales, rows_of(2, 3)), Catch::Contains("fields.amax_history holds no numbers, or rows of several"));
  CHECK_THAT(told(scales, rows_of(0, 0)), Catch::Contains("fields.amax_history"));
  CHECK_THAT(told(
                 [](MadeTree& made) {
                   return made.list({made.number(8.0), made.text("four")});
                 },
                 rows_of(2, 2)),
             Catch::Contains("fields.scale holds no numbers"));
  CHECK_THAT(told([](MadeTree& made) { return made.list({}); }, rows_of(2, 2)), Catch::Contains("fields.scale"));
  CHECK_THAT(told([](MadeTree& made) { return made.text("8.0"); }, rows_of(2, 2)), Catch::Contains("fields.scale"));
}
