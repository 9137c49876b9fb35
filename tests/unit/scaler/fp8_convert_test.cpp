// FP8 state that goes on under another framework's rule: what it looked back at is looked back at.
#include "lib/state/fp8_convert.hpp"

#include <algorithm>
#include <cmath>

#include "lib/base/error.hpp"
#include "lib/codec/json.hpp"
#include "lib/scaler/fp8_scaler.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"

using namespace tare;
using Catch::Contains;
using kernels::Tensor;

namespace {

constexpr int length = 4;

std::unique_ptr<Fp8Scaler> slots_of(const std::string& config) {
  return make_fp8_scaler(parse_fp8_config(config.c_str()));
}

std::unique_ptr<Fp8Scaler> going_on(const ScalerState& state) {
  return make_fp8_scaler({.start = start_fp8_from(state)});
}

/// Sees an amax, steps, and gives what values are multiplied by then.
float step(Fp8Scaler& slots, float amax) {
  const Tensor tensor = {&amax, 1, Dtype::f32, 0};
  slots.observe({&tensor, 1}, nullptr, nullptr);
  slots.update(nullptr);
  return *slots.pointer(Fp8Shown::scale);
}

/// Powers of two times 448, for which all rules' arithmetic is exact, and whose greatest of four changes often.
float amax_of(int i) {
  constexpr int exponents[] = {-3, 2, -5, 0, 1, -2, 4, -1, -6, -7, -4, 3};
  return std::ldexp(448.0f, exponents[i % 12]);
}

std::unique_ptr<Fp8Scaler> after_steps(const std::string& policy, int count) {
  const std::string key = policy == "transformer_engine" ? "amax_history_len"
                          : policy == "msamp"            ? "window_size"
                                                         : "amax_history_length";
  auto slots =
      slots_of(R"({"policy":")" + policy + R"(","slots":["x"],")" + key + R"(":)" + std::to_string(length) + "}");
  for (int i = 0; i < count; ++i) step(*slots, amax_of(i));
  return slots;
}

std::vector<float> floats_of(const ScalerState& state, std::string_view key) {
  return std::get<std::vector<float>>(std::get<StateArray>(get(state, key)).values);
}

const ConvertedValue* value_of(const Conversion& conversion, Outcome outcome, std::string_view key) {
  const auto found = std::ranges::find_if(
      conversion.values, [&](const ConvertedValue& value) { return value.outcome == outcome && value.key == key; });
  return found == conversion.values.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("a history goes from TransformerEngine's order into flax's and MS-AMP's") {
  const ScalerState te = state_from_json(
      R"({"policy":"transformer_engine","params":{"slots":["x"],"format":["e5m2"],"margin":2,"amax_history_len":4},)"
      R"("fields":{"scale":[8],"amax_history":[[0.5,3,2,1]]}})",
      "state");
  const Conversion flax = convert_fp8(te, "flax_fp8");
  CHECK(floats_of(flax.state, "amax_history") == std::vector<float>{1, 0, 3, 2});
  CHECK(floats_of(flax.state, "amax") == std::vector<float>{0.5});
  CHECK(floats_of(flax.state, "scale") == std::vector<float>{0.125});
  CHECK(number_of(get(flax.state, "margin"), "margin") == 2);
  CHECK(value_of(flax, Outcome::lost, "params.amax_compute_algo") != nullptr);
  CHECK_THAT(flax.warnings.at(0), Contains("a step later"));
  const Conversion msamp = convert_fp8(flax.state, "msamp");
  CHECK(floats_of(msamp.state, "amax") == std::vector<float>{0.5, 1, 2, 3});
  CHECK(floats_of(msamp.state, "scale") == std::vector<float>{8});
  REQUIRE(value_of(msamp, Outcome::lost, "fields.amax_history") != nullptr);
  CHECK(convert_fp8(msamp.state, "transformer_engine").state == to_state(start_fp8_from(te)));
}

TEST_CASE("torchao's history is newest first, and what comes into it stays there") {
  const ScalerState te = state_from_json(
      R"({"policy":"transformer_engine","params":{"slots":["x"],"format":["e4m3"],"margin":2,"amax_history_len":4},)"
      R"("fields":{"scale":[8],"amax_history":[[0.5,3,2,1]]}})",
      "state");
  const Conversion torchao = convert_fp8(te, "torchao_delayed");
  CHECK(floats_of(torchao.state, "amax_history") == std::vector<float>{1, 2, 3, 0});
  CHECK(floats_of(torchao.state, "amax") == std::vector<float>{0.5});
  CHECK(floats_of(torchao.state, "scale") == std::vector<float>{8});
  CHECK(get(torchao.state, "variant") == StateValue("0.7"));  // TransformerEngine's variants are others
  CHECK(value_of(torchao, Outcome::lost, "params.margin") != nullptr);
  CHECK(value_of(torchao, Outcome::defaulted, "fields.is_amax_initialized") != nullptr);
  REQUIRE(torchao.warnings.size() == 1);
  CHECK_THAT(torchao.warnings[0], Contains("never shifts"));
  const auto running = going_on(torchao.state);
  CHECK(step(*running, 0.5f) == 448.0f / 3);
  CHECK(step(*running, 7.0f) == 64.0f);
  CHECK(step(*running, 0.5f) == 448.0f / 3);
  CHECK(floats_of(convert_fp8(torchao.state, "transformer_engine").state, "amax_history") ==
        std::vector<float>{0.5, 3, 2, 1});
}

TEST_CASE("what the other rule does otherwise is warned of, and of rules that do the same nothing is said") {
  const auto warnings = [](const std::string& from, const std::string& to, const std::string& more = "") {
    const auto slots = slots_of(R"({"policy":")" + from + R"(","slots":["x"])" + more + "}");
    std::string all;
    for (const std::string& warning : convert_fp8(slots->save(nullptr), to).warnings) all += warning + "\n";
    return all;
  };
  const std::string newest_alone = R"(,"amax_compute_algo":"most_recent")";
  CHECK(warnings("transformer_engine", "msamp").empty());
  CHECK(warnings("flax_fp8", "keras_fp8").empty());
  CHECK(warnings("flax_fp8", "msamp").empty());
  CHECK(warnings("torchao_delayed", "torchao_delayed").empty());
  CHECK(warnings("transformer_engine", "transformer_engine", newest_alone).empty());
  CHECK_THAT(warnings("msamp", "keras_fp8"), Contains("its scales come a step later"));
  CHECK_THAT(warnings("msamp", "torchao_delayed"), Contains("never shifts"));
  CHECK_THAT(warnings("transformer_engine", "msamp", newest_alone), Contains("the newest amax alone"));
  CHECK(warnings("transformer_engine", "te_current", newest_alone).empty());
  CHECK_THAT(warnings("msamp", "fp8_static"), Contains("frozen"));
}

TEST_CASE("a history of another length keeps its newest entries") {
  const ScalerState te =
      state_from_json(R"({"policy":"transformer_engine","params":{"slots":2,"format":"e4m3","amax_history_len":6},)"
                      R"("fields":{"scale":[8,4],"amax_history":[[0,5,4,3,2,1],[0,50,40,30,20,10]]}})",
                      "state");
  StateSection given;
  given.set("history_length", std::int64_t{3});
  const Conversion shorter = convert_fp8(te, "torchao_delayed", given);
  CHECK(floats_of(shorter.state, "amax_history") == std::vector<float>{1, 2, 3, 10, 20, 30});
  CHECK(value_of(shorter, Outcome::given, "params.history_len") != nullptr);
  REQUIRE(value_of(shorter, Outcome::lost, "fields.amax_history") != nullptr);
  CHECK_THAT(value_of(shorter, Outcome::lost, "fields.amax_history")->why, Contains("the 2 oldest entries"));
  StateSection longer;
  longer.set("window_size", std::int64_t{8});
  CHECK(floats_of(convert_fp8(te, "msamp", longer).state, "amax") ==
        std::vector<float>{0, 1, 2, 3, 4, 5, 0, 0, 0, 10, 20, 30, 40, 50, 0, 0});
  for (const std::string wrong : {"window", "amax_compute_algo"}) {
    StateSection unknown;
    unknown.set(wrong, std::int64_t{3});
    CHECK_THROWS_WITH(convert_fp8(te, "msamp", unknown), Contains(wrong));
  }
  longer.set("window_size", std::int64_t{0});
  CHECK_THROWS_WITH(convert_fp8(te, "msamp", longer), Contains("window_size is 0.0"));
}

TEST_CASE("a state that changes its framework goes on with the scales that it would have had") {
  // flax's rule makes a scale before it sees the step's amax: its scales are the others' of the step before.
  const auto lag = [](const std::string& policy) { return policy == "flax_fp8" || policy == "keras_fp8" ? 1 : 0; };
  const std::string policies[] = {"transformer_engine", "msamp", "flax_fp8", "keras_fp8"};
  for (const std::string& from : policies) {
    for (const std::string& to : policies) {
      INFO(from << " to " << to);
      for (int begin = length; begin < length + 12; ++begin) {
        const auto running = going_on(convert_fp8(after_steps(from, begin)->save(nullptr), to).state);
        const auto whole = after_steps(to, begin);
        for (int i = begin; i < begin + 2 * length; ++i) {
          const float scale = step(*running, amax_of(i));
          const float wanted = step(*whole, amax_of(i));
          // What TransformerEngine no longer knows is the oldest of flax's window, for one step.
          if (lag(from) < lag(to) && i == begin) continue;
          REQUIRE(scale == wanted);
        }
      }
    }
  }
}

TEST_CASE("a frozen set keeps its scales, whatever comes") {
  const auto delayed = after_steps("transformer_engine", 9);
  const float scale = *delayed->pointer(Fp8Shown::scale);
  const Conversion frozen = convert_fp8(delayed->save(nullptr), "fp8_static");
  CHECK(value_of(frozen, Outcome::lost, "fields.amax_history") != nullptr);
  const auto slots = going_on(frozen.state);
  CHECK(step(*slots, 1e6f) == scale);
  CHECK(step(*slots, 1e-6f) == scale);
  const auto current = slots_of(R"({"policy":"te_current"})");
  step(*current, 7.0f);
  CHECK(step(*going_on(convert_fp8(current->save(nullptr), "fp8_static").state), 1e6f) == 64);
}

TEST_CASE("MS-AMP's scales are the powers of two below, and f16 stays f16") {
  const ScalerState te = state_from_json(
      R"({"policy":"transformer_engine","params":{"amax_history_len":1,"slots":3,"format":["e4m3","e5m2","f16"]},)"
      R"("fields":{"scale":[100,0.3,1024],"amax_history":[[0],[0],[0]]}})",
      "state");
  const Conversion msamp = convert_fp8(te, "msamp");
  CHECK(floats_of(msamp.state, "scale") == std::vector<float>{64, 0.25, 1024});
  REQUIRE(value_of(msamp, Outcome::converted, "fields.scale") != nullptr);
  CHECK_THAT(value_of(msamp, Outcome::converted, "fields.scale")->why, Contains("power of two"));
  CHECK(get(msamp.state, "format") == get(te, "format"));
}

TEST_CASE("a factor of gradients is no tensor's scale, and loss scales are no FP8") {
  const auto status = [](const std::string& from, const std::string& to) {
    return test::status_of([&] { convert_fp8(slots_of(R"({"policy":")" + from + R"("})")->save(nullptr), to); });
  };
  CHECK(status("fp8_lm", "msamp") == Status::unsupported);
  CHECK(status("msamp", "fp8_lm") == Status::unsupported);
  CHECK(status("msamp", "torch") == Status::invalid_argument);
}
