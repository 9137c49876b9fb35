// One state: names in every spelling, types kept, roles as a view.
#include "lib/state/scaler_state.hpp"

#include <cmath>
#include <limits>

#include "lib/base/error.hpp"
#include "lib/state/policy_state.hpp"
#include "lib/state/policy_value.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"

using namespace tare;
using Catch::Contains;
using tare::test::status_of;

namespace {

ScalerState torch_state() {
  ScalerState state;
  state.policy = "torch";
  state.fields.set("scale", 1024.0);
  state.fields.set("_growth_tracker", std::int64_t{3});
  return state;
}

}  // namespace

TEST_CASE("a torch state_dict among the fields is sorted into fields and params") {
  ScalerState state = torch_state();
  state.fields.set("growth_factor", 2.0);
  state.fields.set("backoff_factor", std::string("0x1p-1"));
  state.fields.set("growth_interval", 2000.0);
  normalise(state);
  CHECK(state.fields.size() == 2);
  CHECK(std::get<double>(get(state, "params.backoff_factor")) == 0.5);
  CHECK(std::get<std::int64_t>(get(state, "params.growth_interval")) == 2000);
}

TEST_CASE("a field that is None is one that is not there, and those behind it are") {
  ScalerState state;
  state.policy = "torch";
  state.fields.set("scale", std::monostate());
  state.fields.set("_growth_tracker", std::int64_t{3});
  state.fields.set("growth_interval", std::int64_t{7});
  normalise(state);
  CHECK(state.fields.find("scale") == nullptr);
  REQUIRE(state.fields.find("_growth_tracker") != nullptr);
  CHECK(*state.fields.find("_growth_tracker") == StateValue(std::int64_t{3}));
  REQUIRE(state.params.find("growth_interval") != nullptr);
  CHECK(*state.params.find("growth_interval") == StateValue(std::int64_t{7}));
}

TEST_CASE("a value is found by native name, other spelling, role, alias and full key") {
  ScalerState state = torch_state();
  state.params.set("growth_interval", std::int64_t{7});
  normalise(state);
  for (const char* key : {"_growth_tracker", "growth_tracker"}) CHECK(number_of(get(state, key), key) == 3);
  for (const char* key : {"growth_interval", "window", "params.growth_interval"})
    CHECK(number_of(get(state, key), key) == 7);
  CHECK(find(state, "hysteresis") == nullptr);
  CHECK_THROWS_WITH(get(state, "hysteresis"), Contains("the state has no \"hysteresis\""));
}

TEST_CASE("a changed value keeps its type, and one that cannot be held is refused") {
  ScalerState state = torch_state();
  set(state, "growth_tracker", 5.0);
  CHECK(std::get<std::int64_t>(get(state, "growth_tracker")) == 5);
  set(state, "scale", std::int64_t{8});
  CHECK(std::get<double>(get(state, "scale")) == 8.0);
  CHECK(status_of([&] { set(state, "growth_tracker", 5.5); }) == Status::mismatch);
  CHECK(status_of([&] { set(state, "scal", 5.0); }) == Status::not_found);
  CHECK(std::get<std::int64_t>(get(state, "growth_tracker")) == 5);
}

TEST_CASE("numbers take no place of names, and no number but 0 and 1 is a truth value") {
  ScalerState slots;
  slots.policy = "transformer_engine";
  slots.params.set("slots", StateArray{{2}, std::vector<std::string>{"a", "b"}});
  const ScalerState before = slots;
  CHECK(status_of([&] { set(slots, "slots", StateArray{{2}, std::vector<double>{1, 2}}); }) == Status::mismatch);
  CHECK(slots == before);
  set(slots, "slots", StateArray{{1}, std::vector<std::string>{"c"}});

  ScalerState deepspeed;
  deepspeed.policy = "deepspeed";
  deepspeed.params.set("consecutive_hysteresis", false);
  deepspeed.other.set("flag", true);
  for (const char* key : {"consecutive_hysteresis", "flag"}) {
    CHECK(status_of([&] { set(deepspeed, key, std::int64_t{5}); }) == Status::mismatch);
    set(deepspeed, key, std::int64_t{1});
    CHECK(get(deepspeed, key) == StateValue(true));
  }
}

TEST_CASE("a parameter that its policy knows can be added") {
  ScalerState state = torch_state();
  set(state, "window", 100.0);
  CHECK(std::get<std::int64_t>(*state.params.find("growth_interval")) == 100);
}

TEST_CASE("DeepSpeed's int scale stays an int, its float a float") {
  ScalerState state;
  state.policy = "deepspeed";
  state.fields.set("cur_scale", std::int64_t{65536});
  normalise(state);
  CHECK(std::holds_alternative<std::int64_t>(*state.fields.find("cur_scale")));
  state.fields.set("cur_scale", 65536.0);
  normalise(state);
  CHECK(std::holds_alternative<double>(*state.fields.find("cur_scale")));
}

TEST_CASE("the same field under two spellings must agree") {
  ScalerState state = torch_state();
  state.fields.set("growth_tracker", std::int64_t{3});
  CHECK_NOTHROW(normalise(state));
  state.fields.set("growth_tracker", std::int64_t{3});
  state.fields.set("_growth_tracker", std::int64_t{4});
  CHECK_THROWS_WITH(normalise(state), Contains("twice"));
}

TEST_CASE("roles are the fields and params under tare's words") {
  ScalerState state = torch_state();
  state.params.set("growth_interval", std::int64_t{7});
  const StateSection roles = roles_of(state);
  REQUIRE(roles.size() == 3);
  CHECK(roles.begin()->name == "scale");
  CHECK(std::get<std::int64_t>(*roles.find("growth_interval")) == 7);
}

TEST_CASE("a number is read behind every value that stands for one, and a whole one only where it is whole") {
  CHECK(number_of(StateValue(0.5), "scale") == 0.5);
  CHECK(number_of(StateValue(std::int64_t{-3}), "scale") == -3);
  CHECK(number_of(StateValue(true), "scale") == 1);
  CHECK(number_of(StateValue(false), "scale") == 0);
  CHECK(number_of(StateValue("0x1p4"), "scale") == 16);
  CHECK(std::isnan(number_of(StateValue("nan"), "scale")));
  CHECK_THROWS_WITH(number_of(StateValue("much"), "scale"), Contains("scale is") && Contains("a number is meant"));
  CHECK_THROWS_WITH(number_of(StateValue(), "scale"), Contains("a number is meant"));
  CHECK(integer_of(StateValue(7.0), "window") == 7);
  CHECK(integer_of(StateValue(true), "window") == 1);
  CHECK(integer_of(StateValue(-0x1p63), "window") == std::numeric_limits<std::int64_t>::min());
  for (const double number : {7.5, HUGE_VAL, std::nan("")}) {
    CHECK_THROWS_WITH(integer_of(StateValue(number), "window"), Contains("a whole number is meant"));
  }
  for (const double number : {0x1p63, 1e300, -0x1.1p63}) {  // whole they are
    CHECK_THROWS_WITH(integer_of(StateValue(number), "window"), Contains("a whole number from -2^63 to 2^63 - 1"));
  }
}

TEST_CASE("roles that were edited against the fields are refused") {
  ScalerState state = torch_state();
  StateSection roles;
  roles.set("scale", 2048.0);
  CHECK(status_of([&] { take_roles(state, roles); }) == Status::mismatch);
  StateSection agreeing;
  agreeing.set("scale", std::int64_t{1024});
  agreeing.set("growth_interval", std::int64_t{9});
  take_roles(state, agreeing);
  CHECK(std::get<std::int64_t>(get(state, "growth_interval")) == 9);
}

TEST_CASE("of roles that nobody edited the fields are believed, and what no field says is taken in") {
  ScalerState state = torch_state();
  StateSection roles;
  roles.set("scale", 2048.0);
  roles.set("growth_interval", std::int64_t{9});
  take_missing_roles(state, roles);
  CHECK(std::get<double>(get(state, "scale")) == 1024.0);
  CHECK(std::get<std::int64_t>(get(state, "growth_interval")) == 9);
}

TEST_CASE("every policy's fresh state goes out and comes back the same") {
  for (const rule::PolicySpec& spec : rule::policies()) {
    INFO(spec.name << " " << spec.variant);
    RunningState running;
    running.policy = rule::make_policy(spec);
    rule::prepare(running.policy);
    running.state = rule::initial_state(running.policy);
    running.counters = {10, 3, 2, 1};
    const ScalerState state = to_state(running);
    const RunningState again = start_from(state);
    CHECK(again.policy.id == running.policy.id);
    CHECK(to_state(again) == state);
    RunningState loaded = running;
    load_into(loaded, state);
    CHECK(to_state(loaded) == state);
  }
}

TEST_CASE("loading names all that is missing, extra and bad at once, and changes nothing") {
  RunningState running = start_from(torch_state());
  ScalerState state;
  state.policy = "torch";
  state.fields.set("scal", 1.0);
  state.params.set("growth_factor", std::string("two"));
  CHECK_THROWS_WITH(load_into(running, state), Contains("growth_factor"));
  state.params.erase("growth_factor");
  CHECK_THROWS_WITH(load_into(running, state),
                    Contains("missing: fields.scale, fields._growth_tracker; extra: fields.scal"));
  state.fields.erase("scal");
  state.fields.set("scale", 1e300);
  CHECK_THROWS_WITH(load_into(running, state), Contains("bad: fields.scale is beyond what the policy's type holds"));
  CHECK(to_state(running) == to_state(start_from(torch_state())));
}

TEST_CASE("a completed state has what a fresh scaler of its parameters starts with, and keeps what it held") {
  ScalerState state;
  state.policy = "deepspeed";
  state.params.set("delayed_shift", std::int64_t{3});
  state.fields.set("cur_scale", 64.0);
  state.other.set("dtype", std::string("torch.float16"));
  const ScalerState whole = completed(state);
  CHECK(number_of(get(whole, "cur_scale"), "") == 64);
  CHECK(number_of(get(whole, "cur_hysteresis"), "") == 3);
  CHECK(number_of(get(whole, "last_overflow_iter"), "") == -1);
  CHECK(number_of(get(whole, "cur_iter"), "") == 0);
  CHECK(whole.params == state.params);
  CHECK(whole.other == state.other);

  RunningState running = start_from(state);
  CHECK_THROWS_WITH(load_into(running, state), Contains("missing: fields.cur_iter"));
  load_into(running, whole);
}

TEST_CASE("a state does not go into a scaler of another policy or variant") {
  RunningState running = start_from(torch_state());
  ScalerState other;
  other.policy = "nemo";
  CHECK(status_of([&] { load_into(running, other); }) == Status::mismatch);
  other.policy = "tomorrow's";
  CHECK(status_of([&] { load_into(running, other); }) == Status::unsupported);
  ScalerState fused;
  fused.policy = "deepspeed";
  fused.params.set("variant", std::string("sideways"));
  CHECK(status_of([&] { start_from(fused); }) == Status::mismatch);
}

TEST_CASE("an unknown policy is not known, and told with what there is") {
  CHECK_THROWS_WITH(require_policy("troch", ""), Contains("no policy \"troch\""));
  CHECK(status_of([] { require_policy("deepspeed", "sideways"); }) == Status::invalid_argument);
}
