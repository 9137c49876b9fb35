// mindformers' adaptive window: the rule as its authors describe it, and a window and its level as one thing.
#include <fstream>

#include "lib/base/error.hpp"
#include "lib/codec/json.hpp"
#include "lib/scaler/config.hpp"
#include "lib/scaler/scaler.hpp"
#include "lib/state/convert.hpp"
#include "lib/state/window_level.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"
#include "tests/vectors.hpp"

using namespace tare;
using Catch::Contains;
using vectors::Json;

namespace {

ScalerState state_of(const std::string& config) {
  return make_scaler(parse_config(config.c_str()))->save(nullptr);
}

ScalerState adaptive(std::int64_t window, std::int64_t index) {
  ScalerState state = state_of(R"({"policy":"mindformers_adaptive"})");
  state.fields.set("scale_window", window);
  state.fields.set("list_index", index);
  return state;
}

std::int64_t integer(const ScalerState& state, std::string_view key) {
  return integer_of(get(state, key), key);
}

template <class Body>
std::string refusal(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "taken";
}

ScalerState going_on(const ScalerState& state, const char* config) {
  return make_scaler(parse_config(config, state))->save(nullptr);
}

/// What a scaler shows after each step in which it changed, as the traces have it.
Json changes_of(LossScaler& scaler, const Json& trace) {
  const auto overflows = trace.at("overflows").get<std::vector<int64_t>>();
  Json changes = Json::array();
  Json before;
  for (int64_t step = 0; step < trace.at("steps").get<int64_t>(); ++step) {
    scaler.report_overflow(std::find(overflows.begin(), overflows.end(), step) != overflows.end(), nullptr);
    scaler.update(nullptr);
    const ScalerState state = scaler.save(nullptr);
    const Json now{scaler.scale(nullptr), integer(state, "fields.scale_window"), integer(state, "list_index")};
    if (now != before) changes.push_back({step, now[0], now[1], now[2]});
    before = now;
  }
  return changes;
}

}  // namespace

TEST_CASE("The variant \"paper\" follows every trace of the rule as its authors describe it, and the code does not") {
  std::ifstream file(TARE_TEST_SOURCE "/vectors/mindformers_adaptive_paper.json");
  const Json traces = Json::parse(file).at("traces");
  REQUIRE(traces.size() == 12);
  int parted = 0;
  for (const Json& trace : traces) {
    Json config{{"policy", "mindformers_adaptive"}, {"variant", "paper"}};
    for (const char* name : {"loss_scale_value", "scale_factor", "min_scale_window", "max_scale_window"}) {
      config[name] = trace.at(name);
    }
    CHECK(changes_of(*make_scaler(parse_config(config.dump().c_str())), trace) == trace.at("changes"));
    config.erase("variant");
    parted += changes_of(*make_scaler(parse_config(config.dump().c_str())), trace) == trace.at("changes") ? 0 : 1;
  }
  CHECK(parted > 6);
}

TEST_CASE("The paper's greatest window is 1000 where it is below the smallest; the code refuses it") {
  const auto config = [](const char* variant) {
    return std::string(R"({"policy":"mindformers_adaptive","max_scale_window":10,"min_scale_window":20)") + variant +
           "}";
  };
  const ScalerState state = state_of(config(R"(,"variant":"paper")"));
  CHECK(window_level(state)->windows.back() == 1000);
  CHECK(integer(state, "fields.scale_window") == 20);
  CHECK_THAT(refusal([&] { state_of(config("")); }), Contains("max_scale_window is not greater"));
}

TEST_CASE("A paper's state says so, and goes on as one") {
  const ScalerState state = state_of(R"({"policy":"mindformers_adaptive","variant":"paper"})");
  CHECK(get(state, "params.variant") == StateValue(std::string("paper")));
  CHECK(start_from(state_from_json(state_to_json(state), "a state")).policy.id ==
        rule::PolicyId::mindformers_adaptive_paper);
  CHECK(state_of(R"({"policy":"mindformers_adaptive"})").params.find("variant") == nullptr);
  const ScalerState code = going_on(state, R"({"policy":"mindformers_adaptive"})");
  CHECK(code.params.find("variant") != nullptr);  // the state tells, unless the configuration names another
}

TEST_CASE("Without a window mindformers' scaler starts at the least one") {
  CHECK(integer(state_of(R"({"policy":"mindformers_adaptive"})"), "fields.scale_window") == 20);
  const ScalerState state = state_of(R"({"policy":"mindformers_adaptive","min_scale_window":10})");
  CHECK(integer(state, "fields.scale_window") == 10);
  CHECK(integer(state, "list_index") == 0);
}

TEST_CASE("Whoever sets a window sets its level, and the reverse") {
  ScalerState state = adaptive(20, 0);
  set(state, "window", std::int64_t{200});
  CHECK(integer(state, "list_index") == 5);
  set(state, "window_index", std::int64_t{3});
  CHECK(integer(state, "fields.scale_window") == 50);
  set(state, "window_index", std::int64_t{-1});
  CHECK(integer(state, "fields.scale_window") == 1);
  set(state, "fields.scale_window", std::int64_t{1000});
  CHECK(integer(state, "list_index") == 7);
  set(state, "max_scale_window", std::int64_t{200});
  CHECK(window_level(state)->list() == "20, 30, 40, 50, 100, 200");
  CHECK(integer(state, "fields.scale_window") == 200);
  CHECK(integer(state, "list_index") == 5);
}

TEST_CASE("A window or a level that the list lacks is refused with the list, and nothing changes") {
  const ScalerState before = adaptive(20, 0);
  ScalerState state = before;
  for (const auto& [key, value] :
       {std::pair{"window", 123}, {"window_index", 99}, {"window_index", 8}, {"window_index", -2}}) {
    CHECK_THAT(refusal([&] { set(state, key, std::int64_t{value}); }), Contains("20, 30, 40, 50, 100, 200, 500, 1000"));
    CHECK(state == before);
  }
  CHECK_THAT(refusal([&] { set(state, "max_scale_window", std::int64_t{20}); }), Contains("not greater"));
  CHECK(state == before);
}

TEST_CASE("A value that is no window is set whatever the window is") {
  ScalerState state = adaptive(77, 0);
  set(state, "scale", 4.0);
  CHECK(get(state, "scale") == StateValue(4.0));
}

TEST_CASE("A scaler that goes on from a state takes a window with its level, and another list") {
  const ScalerState state = adaptive(100, 4);
  CHECK(integer(going_on(state, R"({"scale_window":500})"), "list_index") == 6);
  CHECK(integer(going_on(state, R"({"window":500})"), "fields.scale_window") == 500);
  const ScalerState other = going_on(state, R"({"max_scale_window":50})");
  CHECK(window_level(other)->list() == "20, 30, 40, 50");
  CHECK(integer(other, "fields.scale_window") == 50);
  CHECK(integer(other, "list_index") == 3);
  CHECK_THAT(refusal([&] { going_on(state, R"({"scale_window":123})"); }), Contains("20, 30, 40"));
  CHECK_THAT(refusal([&] { going_on(adaptive(20, 99), nullptr); }), Contains("level 99") && Contains("20, 30, 40"));
  ScalerState without = state;
  without.fields.erase("list_index");
  CHECK(integer(going_on(without, nullptr), "list_index") == 4);
}

TEST_CASE("A run that is resumed with the arguments it was begun with keeps the window that has adapted since") {
  for (const char* begun : {R"({"policy":"mindformers_adaptive","scale_window":20})",
                            R"({"policy":"mindformers_adaptive","scale_window":25})"}) {
    ScalerState state = state_of(begun);
    set(state, "window", std::int64_t{100});
    const ScalerState resumed = going_on(state, begun);
    CHECK(integer(resumed, "fields.scale_window") == 100);
    CHECK(integer(resumed, "list_index") == 4);
    CHECK(integer(going_on(resumed, R"({"scale_window":500})"), "list_index") == 6);
  }
}

TEST_CASE("A migration with another list says where the state lands in it") {
  StateSection given;
  given.set("max_scale_window", std::int64_t{50});
  const Conversion conversion = convert(adaptive(100, 4), {"mindformers_adaptive", "", given});
  CHECK(integer(conversion.state, "list_index") == 3);
  REQUIRE(conversion.warnings.size() == 1);
  CHECK_THAT(conversion.warnings.front(),
             Contains("20, 30, 40, 50") && Contains("level 4 of 4") && Contains("window 50"));
  StateSection window;
  window.set("window", std::int64_t{200});
  ScalerState torch = state_of(R"({"policy":"torch"})");
  torch.params.erase("growth_interval");
  const Conversion chosen = convert(torch, {"mindformers_adaptive", "", window});
  CHECK(integer(chosen.state, "fields.scale_window") == 200);
  CHECK(integer(chosen.state, "list_index") == 5);
}

TEST_CASE("A level is told as level of levels, with what comes next") {
  CHECK(sentence(*window_level(adaptive(30, 1))) ==
        "window 30 is level 2 of 8 (20, 30, 40, 50, 100, 200, 500, 1000); after 3 growths it is 40");
  CHECK_THAT(sentence(*window_level(adaptive(1000, 7))), Contains("level 8 of 8") && Contains("the last"));
  CHECK_THAT(sentence(*window_level(adaptive(1, -1))), Contains("hidden") && Contains("after 3 growths it is 20"));
  CHECK_THAT(sentence(*window_level(adaptive(100, 1))), Contains("another list"));
  CHECK(!window_level(state_of(R"({"policy":"torch"})")));
}
