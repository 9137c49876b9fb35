// Scalers whose parameters stand among a model's, at a file's root: MindSpore's, mindformers', Paddle's static graphs'.
#include <algorithm>
#include <cmath>
#include <string>

#include "lib/dialect/found.hpp"
#include "lib/dialect/policy.hpp"
#include "lib/dialect/resume.hpp"
#include "tests/catch.hpp"
#include "tests/unit/dialect/made_tree.hpp"

using namespace tare;

namespace {

using Pairs = std::vector<std::pair<std::string, double>>;

/// A flat file of those numbers, and of as many more parameters.
NodeId flat(MadeTree& made, const Pairs& pairs, std::size_t others = 0) {
  std::vector<NodeId> items;
  const auto add = [&](const std::string& name, NodeId value) {
    items.push_back(made.text(name));
    items.push_back(value);
  };
  for (std::size_t i = 0; i < others; ++i) add("layers." + std::to_string(i) + ".weight", made.none());
  for (const auto& [name, value] : pairs) add(name, made.number(value));
  return made.tree.add_items(Kind::map, items, {});
}

FoundScalers found_in(MadeTree& made, NodeId root) {
  made.tree.root = root;
  std::vector<Finding> findings;
  return find_scalers(made.tree, {"net.ckpt"}, findings);
}

FoundScalers found_in(const Pairs& pairs, std::size_t others = 0) {
  MadeTree made;
  return found_in(made, flat(made, pairs, others));
}

double value_of(const FoundScaler& scaler, Role role) {
  REQUIRE(scaler.find(role) != nullptr);
  return scaler.find(role)->value.as_double();
}

constexpr std::string_view adaptive[] = {"scale_window",          "list_index",
                                         "scale_window_up_count", "scale_window_down_count",
                                         "current_iterator_step", "last_overflow_iterator_step"};

}  // namespace

TEST_CASE("MindSpore's scaler is found among any number of parameters") {
  const auto scalers =
      found_in({{"scale_sense", 2048}, {"current_iterator_step", 7}, {"last_overflow_iterator_step", 3}}, 10'000);
  REQUIRE(scalers.size() == 1);
  CHECK(scalers[0].dialect->name == "mindspore");
  CHECK(scalers[0].path.empty());
  CHECK(scalers[0].fields.size() == 3);
  CHECK(value_of(scalers[0], Role::step) == 7);
  CHECK(growth_outlook(scalers[0]).sentence ==
        "3 clean steps counted; MindSpore takes its window from DynamicLossScaleUpdateCell(scale_window=...).");
}

TEST_CASE("what stands in front of the names is the scaler's path") {
  MadeTree made;
  const NodeId manager = made.map({{"cur_iter", made.number(9)}, {"last_overflow_iter", made.number(4)}});
  const auto scalers =
      found_in(made, made.map({{"a", made.map({{"scale_sense", made.number(2)}})},
                               {"b", made.map({{"scale_sense", made.number(4)}, {"loss_scaling_manager", manager}})},
                               {"c", made.map({{"scale_senses", made.number(8)}})}}));
  REQUIRE(scalers.size() == 2);
  CHECK(scalers[0].path == "a");
  CHECK(scalers[0].fields.size() == 1);
  CHECK(scalers[1].path == "b");
  CHECK(scalers[1].fields[1].name == "loss_scaling_manager.cur_iter");
  CHECK(value_of(scalers[1], Role::step) == 9);
}

TEST_CASE("a level in a list of windows makes MindSpore's scaler mindformers'") {
  Pairs unique = {{"scale_sense", 65536}};
  for (const std::string_view name : adaptive) unique.emplace_back(name, 20);
  Pairs structural = {{"scale_sense", 65536}};
  for (const char* name :
       {"scale_window", "list_index", "window_up_count", "window_down_count", "cur_iter", "last_overflow_iter"}) {
    structural.emplace_back(std::string("loss_scaling_manager.") + name, 20);
  }
  for (const Pairs& pairs : {unique, structural}) {
    const auto scalers = found_in(pairs);
    REQUIRE(scalers.size() == 1);
    CHECK(scalers[0].dialect->name == "mindformers_adaptive");
    CHECK(scalers[0].fields.size() == 7);
    for (const Role role : {Role::growth_interval, Role::window_index, Role::window_up_count, Role::window_down_count,
                            Role::step, Role::last_overflow_step}) {
      CHECK(value_of(scalers[0], role) == 20);
    }
  }
}

TEST_CASE("a loss_scale that a resume begins with is edited along with the cell's scale, and told where it differs") {
  const Pairs notes[] = {
      {{"global_batch_size", 4}, {"step_num", 1}}, {{"epoch_num", 3}, {"cur_step", 700}}, {{"epoch_num", 3}}};
  for (const Pairs& note : notes) {
    Pairs pairs = {{"scale_sense", 65536}, {"current_iterator_step", 700}, {"last_overflow_iterator_step", 640}};
    pairs.insert(pairs.end(), note.begin(), note.end());
    pairs.emplace_back("loss_scale", 8);
    const auto scalers = found_in(pairs);
    REQUIRE(scalers.size() == 1);
    CHECK(value_of(scalers[0], Role::scale) == 8);
    REQUIRE(scalers[0].find("scale_sense") != nullptr);
    CHECK(scalers[0].find("scale_sense")->role == Role::scale);
    const auto findings = judge(scalers[0]);
    CHECK(std::ranges::any_of(findings, [](const Finding& one) { return one.code == "fields-disagree"; }));
    CHECK(std::get<double>(*to_state(scalers[0]).fields.find("scale_sense")) == 8);
  }
}

TEST_CASE("a loss_scale that is nan is not healthy because the cell's scale is") {
  const auto scalers = found_in({{"scale_sense", 65536}, {"loss_scale", std::nan("")}, {"epoch_num", 3}});
  REQUIRE(scalers.size() == 1);
  const auto findings = judge(scalers[0]);
  CHECK(std::ranges::any_of(findings, [](const Finding& one) { return one.code == "scale-not-finite"; }));
}

TEST_CASE("the loss_scale that a model's own cell scales by is its scale, beside an unread scale_sense or none") {
  const Pairs counters = {{"current_iterator_step", 700}, {"last_overflow_iterator_step", 640}};
  const Pairs beside[] = {{},
                          {{"scale_sense", 65536}},
                          {{"scale_sense", 65536}, {"epoch_num", 0}},
                          {{"scale_sense", 65536}, {"epoch_num", 0}, {"step_num", 0}}};
  for (const Pairs& others : beside) {
    Pairs pairs = {{"loss_scale", 128}};
    pairs.insert(pairs.end(), counters.begin(), counters.end());
    pairs.insert(pairs.end(), others.begin(), others.end());
    const auto scalers = found_in(pairs);
    REQUIRE(scalers.size() == 1);
    CHECK(scalers[0].dialect->name == "mindspore");
    CHECK(scalers[0].fields.size() == 3);
    CHECK(value_of(scalers[0], Role::scale) == 128);
    CHECK(judge(scalers[0]).empty());
    CHECK(std::get<double>(*to_state(scalers[0]).fields.find("scale_sense")) == 128);
  }
}

TEST_CASE("a scale_sense beside a loss_scale that nothing reads is told of") {
  MadeTree made;
  const auto told = [&](const Pairs& pairs) {
    const auto scalers = found_in(made, flat(made, pairs));
    return told_of_resumes(trainers_of(made.tree, {"net.ckpt"}, scalers), true).size();
  };
  const Pairs cell = {{"loss_scale", 128}, {"current_iterator_step", 700}, {"last_overflow_iterator_step", 640}};
  CHECK(told(cell) == 0);
  Pairs inherited = cell;
  inherited.emplace_back("scale_sense", 65536);
  CHECK(told(inherited) == 1);
}

TEST_CASE("a loss_scale that a user's script noted is not the scaler's") {
  const Pairs notes[] = {{{"step_num", 1}}, {{"epoch_num", 3}, {"step_num", 1}}, {}};
  for (const Pairs& note : notes) {
    Pairs pairs = {{"scale_sense", 65536}, {"current_iterator_step", 700}, {"last_overflow_iterator_step", 640}};
    pairs.insert(pairs.end(), note.begin(), note.end());
    pairs.emplace_back("loss_scale", 8);
    const auto scalers = found_in(pairs);
    REQUIRE(scalers.size() == 1);
    CHECK(scalers[0].fields.size() == 3);
    CHECK(value_of(scalers[0], Role::scale) == 65536);
  }
}

TEST_CASE("a loss_scale that is no number leaves the cell's scale alone") {
  MadeTree made;
  const auto scalers = found_in(made, made.map({{"scale_sense", made.number(8)}, {"loss_scale", made.none()}}));
  REQUIRE(scalers.size() == 1);
  CHECK(scalers[0].fields.size() == 1);
}

TEST_CASE("a scale alone is mindformers' only beside all else that it writes there") {
  const auto scalers = found_in({{"epoch_num", 1}, {"step_num", 3}, {"global_batch_size", 8}, {"loss_scale", 65536}});
  REQUIRE(scalers.size() == 1);
  CHECK(scalers[0].dialect->name == "mindformers_common");
  CHECK(scalers[0].fields.size() == 1);
  CHECK(found_in({{"step_num", 3}, {"loss_scale", 65536}}).empty());
  CHECK(found_in({{"global_batch_size", 3}, {"loss_scale", 65536}}).empty());
}

TEST_CASE("a name that holds no number is no scaler's") {
  MadeTree made;
  CHECK(found_in(made, made.map({{"scale_sense", made.none()}})).empty());
}

TEST_CASE("a value and a counter that are no parameters are not MindSpore's functional scaler") {
  CHECK(found_in({{"scale_value", 1000}, {"counter", 4}}).empty());
}

TEST_CASE("a growth of an adaptive window comes at the step that reaches it") {
  const auto clean_steps = [](double window, double step, double last) {
    const auto scalers = found_in({{"scale_sense", 8},
                                   {"list_index", 0},
                                   {"scale_window", window},
                                   {"current_iterator_step", step},
                                   {"last_overflow_iterator_step", last}});
    REQUIRE(scalers.size() == 1);
    return growth_outlook(scalers[0]).clean_steps;
  };
  // inc = window <= cur - last, and only then is cur counted: adaptive_loss_scale.py
  for (const double window : {1.0, 20.0, 300.0}) {
    for (double step = 1; step < 30; ++step) {
      std::int64_t steps = 1;
      for (double now = step; !(window <= now - 0); ++now) ++steps;
      CHECK(clean_steps(window, step, 0) == steps);
    }
  }
}

TEST_CASE("a static graph's scaler is its three variables of one number") {
  const auto scalers = found_in({{"loss_scaling_0", 512},
                                 {"loss_scaling_1", 64},
                                 {"num_bad_steps_1", 2},
                                 {"num_good_steps_0", 1},
                                 {"num_good_steps_1", 5},
                                 {"num_bad_steps_0", 0},
                                 {"loss_scaling_2", 4},
                                 {"loss_scaling_x", 4}},
                                200);
  REQUIRE(scalers.size() == 2);
  CHECK(scalers[0].dialect->name == "paddle_static");
  CHECK(value_of(scalers[0], Role::scale) == 512);
  CHECK(value_of(scalers[0], Role::growth_tracker) == 1);
  CHECK(value_of(scalers[1], Role::scale) == 64);
  CHECK(value_of(scalers[1], Role::overflow_tracker) == 2);
}
