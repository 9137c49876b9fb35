// The frameworks' own FP8 traces, through the step that runs on the GPU: many slots at once, each with its history.
#include <cfloat>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "kernels/fp8/host_slots.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::fp8;
using nlohmann::json;

namespace {

json vectors(const std::string& name) {
  std::ifstream file(TARE_TEST_SOURCE "/vectors/" + name + ".json");
  REQUIRE(file);
  return json::parse(file);
}

float number(const json& value) {
  return value.is_string() ? std::strtof(value.get<std::string>().c_str(), nullptr) : value.get<float>();
}

bool same(float a, float b) {
  return bits_of(a) == bits_of(b) || (std::isnan(a) && std::isnan(b));
}

/// Puts a trace's start into all slots, makes its steps, and counts what differs from the framework.
int differences(const json& trace, HostSlots& slots, const char* history) {
  const json& start = trace.at("start");
  for (std::uint32_t slot = 0; slot < slots.count(); ++slot) {
    slots.set_scale(slot, number(start.at("scale")));
    if (start.contains(history)) {
      std::vector<float> entries;
      for (const json& entry : start.at(history)) entries.push_back(number(entry));
      slots.set_history(slot, entries);
    }
  }
  int wrong = 0;
  for (const json& step : trace.at("steps")) {
    for (std::uint32_t slot = 0; slot < slots.count(); ++slot)
      slots.arrays().amax[slot] = bits_of(number(step.at("amax")));
    slots.step();
    const json& after = step.at("after");
    for (const std::uint32_t slot : {0u, slots.count() - 1}) {
      wrong += !same(slots.arrays().scale[slot], number(after.at("scale")));
      wrong += !same(slots.arrays().inverse[slot], 1.0f / slots.arrays().scale[slot]);
      if (after.contains("amax_counter"))
        wrong += slots.arrays().steps[slot] != after.at("amax_counter").get<std::uint32_t>();
      if (!after.contains(history)) continue;
      const std::vector<float> have = slots.history(slot);
      REQUIRE(have.size() == after.at(history).size());
      for (std::size_t i = 0; i < have.size(); ++i) wrong += !same(have[i], number(after.at(history)[i]));
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("TransformerEngine's delayed scaling: every trace of its three implementations") {
  std::size_t traces = 0;
  const json all = vectors("transformer_engine");
  for (const json& trace : all.at("traces")) {
    const json& given = trace.at("params");
    const std::string variant = given.at("variant");
    INFO(variant << ": " << trace.value("why", ""));
    Params params;
    params.transformer_engine = {variant == "unfused"      ? TeVariant::unfused
                                 : variant == "fused_bulk" ? TeVariant::bulk
                                                           : TeVariant::fused,
                                 given.at("amax_compute_algo") == "most_recent", std::exp2(number(given.at("margin")))};
    HostSlots slots(params, {Layout::transformer_engine, given.at("amax_history_len").get<std::uint32_t>()},
                    std::vector<float>(9, number(given.at("fp8_max"))));
    CHECK(differences(trace, slots, "amax_history") == 0);
    ++traces;
  }
  CHECK(traces == 39);
}

TEST_CASE("an infinite scale of TransformerEngine's does not outlive a step that learns nothing") {
  for (const TeVariant variant : {TeVariant::fused, TeVariant::bulk, TeVariant::unfused}) {
    for (const bool most_recent : {false, true}) {
      Params params;
      params.transformer_engine = {variant, most_recent, 1};
      HostSlots slots(params, {Layout::transformer_engine, 3}, std::vector<float>(2, 448.0f));
      slots.set_scale(0, INFINITY);
      slots.set_scale(1, NAN);
      slots.step();
      CHECK(slots.arrays().scale[0] == FLT_MAX);
      CHECK(slots.arrays().inverse[0] == 1.0f / FLT_MAX);
      CHECK(std::isnan(slots.arrays().scale[1]));
    }
  }
}

TEST_CASE("TransformerEngine's current scaling: every trace") {
  std::size_t steps = 0;
  const json all = vectors("te_current");
  for (const json& trace : all.at("traces")) {
    const json& given = trace.at("params");
    INFO(given.dump());
    Params params;
    params.rule = Rule::current;
    params.current = {given.at("force_pow_2_scales").get<bool>(), number(given.at("amax_epsilon"))};
    HostSlots slots(params, {Layout::transformer_engine, 1}, std::vector<float>(5, number(given.at("fp8_max"))));
    json full = trace;
    full["start"]["scale"] = 1.0;
    CHECK(differences(full, slots, "amax_history") == 0);
    steps += trace.at("steps").size();
  }
  CHECK(steps > 200);
}

TEST_CASE("MS-AMP's scaling: every trace") {
  std::size_t traces = 0;
  const json all = vectors("msamp");
  for (const json& trace : all.at("traces")) {
    const json& given = trace.at("params");
    INFO(given.dump() << " " << trace.value("why", ""));
    const float fp8_max = number(given.at("fp_max"));
    Params params;
    params.rule = Rule::msamp;
    params.msamp.margin = number(given.at("margin"));
    ++traces;
    if (!given.contains("window_size")) {  // the formula alone: an amax that is not finite goes into it as it is
      for (const json& step : trace.at("steps")) {
        const float scale = number(trace.at("start").at("scale"));
        CHECK(same(next_scale(params.msamp, scale, number(step.at("amax")), fp8_max),
                   number(step.at("after").at("scale"))));
      }
      continue;
    }
    HostSlots slots(params, {Layout::msamp, given.at("window_size").get<std::uint32_t>()},
                    std::vector<float>(6, fp8_max));
    CHECK(differences(trace, slots, "amax") == 0);
  }
  CHECK(traces > 20);
}

TEST_CASE("flax's and Keras's scaling: every trace and every computed scale") {
  for (const std::string name : {"flax_fp8", "keras_fp8"}) {
    const json all = vectors(name);
    for (const json& trace : all.at("traces")) {
      INFO(name << ": " << trace.value("why", ""));
      Params params;
      params.rule = Rule::flax;
      const auto length = static_cast<std::uint32_t>(trace.at("start").at("amax_history").size());
      const bool e5m2 = trace.at("params").at("dtype") == "float8_e5m2";
      HostSlots slots(params, {Layout::flax, length}, std::vector<float>(7, e5m2 ? 57344.0f : 448.0f));
      CHECK(differences(trace, slots, "amax_history") == 0);
    }
    CHECK(all.at("compute_scale").size() == 180);
    for (const json& given : all.at("compute_scale")) {
      INFO(name << ": " << given.dump());
      const FlaxParams params{std::exp2(number(given.at("margin")))};
      CHECK(same(next_scale(params, number(given.at("scale")), number(given.at("amax")), number(given.at("fp8_max"))),
                 number(given.at("out"))));
    }
  }
}

TEST_CASE("torchao's scaling: every trace of seven releases") {
  std::size_t steps = 0;
  for (const std::string name : {"torchao_delayed", "torchao_dynamic"}) {
    const json all = vectors(name);
    for (const json& trace : all.at("traces")) {
      const json& given = trace.at("params");
      INFO(name << ": " << trace.at("why") << " " << given.dump());
      const bool is_delayed = name == "torchao_delayed";
      const std::string variant = given.value("variant", "");
      Params params;
      params.rule = is_delayed ? Rule::torchao_delayed : Rule::torchao_dynamic;
      params.torchao = {variant == "0.4", variant < "0.7" && given.value("orig_dtype", "") == "float16",
                        given.value("round_scales_to_power_of_2", false), given.value("enable_amax_init", true)};
      HostSlots slots(params,
                      {is_delayed ? Layout::torchao : Layout::transformer_engine, given.value("history_len", 1u)},
                      std::vector<float>(6, number(given.at("fp8_max"))));
      json full = trace;
      if (!is_delayed) full["start"]["scale"] = 1.0;
      CHECK(differences(full, slots, "amax_history") == 0);
      steps += trace.at("steps").size();
    }
  }
  CHECK(steps > 2000);
}
