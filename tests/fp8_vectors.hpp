// Drives anything that runs FP8 slots through the traces of the real frameworks in tests/vectors/, and counts what
// differs: two slots side by side, so that each must find its own.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tare::fp8_vectors {

using Json = nlohmann::ordered_json;

/// What runs: slots behind some interface. Any failure throws.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual void create_from_state(const std::string& state) = 0;
  /// Into both slots.
  virtual void see(float amax) = 0;
  virtual void update() = 0;
  virtual std::string state() = 0;
};

struct Tally {
  std::size_t traces = 0;
  std::size_t steps = 0;
  std::size_t of_the_formula_alone = 0;  ///< traces of a function, with arguments that a step never gives it
  std::vector<std::string> differences;
};

inline float number(const Json& json) {
  return json.is_string() ? std::strtof(json.get<std::string>().c_str(), nullptr) : json.get<float>();
}

inline bool same(float a, float b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

inline bool is_e5m2(const Json& params) {
  for (const char* largest : {"fp8_max", "fp_max"}) {
    if (params.contains(largest)) return number(params.at(largest)) == 57344.0f;
  }
  return params.value("dtype", "") == "float8_e5m2";
}

/// Params of a trace as the state has them.
inline Json params_of(const std::string& rule, const Json& trace) {
  Json params{{"slots", 2}, {"format", is_e5m2(trace.at("params")) ? "e5m2" : "e4m3"}};
  for (const auto& [name, value] : trace.at("params").items()) {
    if (name != "fp8_max" && name != "fp_max" && name != "qtype" && name != "dtype") params[name] = value;
  }
  if (rule == "msamp" && !params.contains("window_size")) params["window_size"] = 1;
  if (rule == "flax_fp8" || rule == "keras_fp8")
    params["amax_history_length"] = trace.at("start").at("amax_history").size();
  return params;
}

class Trace {
 public:
  Trace(const std::string& rule, const Json& trace, Subject& subject, Tally& tally)
      : rule_(rule), trace_(trace), subject_(subject), tally_(tally) {}

  void run() {
    const bool formula = rule_ == "msamp" && !trace_.at("params").contains("window_size");
    if (is_no_step(formula)) {
      ++tally_.of_the_formula_alone;
      return;
    }
    ++tally_.traces;
    Json fields = Json::object();
    for (const auto& [name, value] : trace_.at("start").items()) fields[name] = Json::array({value, value});
    const char* history = rule_ == "msamp" ? "amax" : "amax_history";
    if (formula) fields[history] = Json::array({{0.0}, {0.0}});
    if (formula) fields["amax_counter"] = Json::array({0, 0});
    if (!fields.contains("scale")) fields["scale"] = Json::array({1.0, 1.0});
    const Json state{{"policy", rule_}, {"params", params_of(rule_, trace_)}, {"fields", fields}};
    subject_.create_from_state(state.dump());
    for (const Json& step : trace_.at("steps")) take(step);
  }

 private:
  /// A step of MS-AMP's takes what is not finite for 0, and no amax is below 0.
  bool is_no_step(bool formula) const {
    const Json& start = trace_.at("start");
    if (start.contains("amax_history") && number(start.at("amax_history")[0]) < 0) return true;
    return formula && !std::isfinite(number(trace_.at("steps")[0].at("amax")));
  }

  void take(const Json& step) {
    ++tally_.steps;
    subject_.see(number(step.at("amax")));
    subject_.update();
    const Json have = Json::parse(subject_.state()).at("fields");
    for (const auto& [name, want] : step.at("after").items()) {
      for (const std::size_t slot : {0u, 1u}) compare(name, want, have.at(name).at(slot));
    }
  }

  void compare(const std::string& name, const Json& want, const Json& have) {
    if (want.is_array()) {
      if (want.size() != have.size()) return differ(name, want, have);
      for (std::size_t i = 0; i < want.size(); ++i) compare(name, want[i], have[i]);
    } else if (!same(number(want), number(have))) {
      differ(name, want, have);
    }
  }

  void differ(const std::string& name, const Json& want, const Json& have) {
    tally_.differences.push_back(rule_ + ": " + trace_.value("why", "") + ": step " + std::to_string(tally_.steps) +
                                 ": " + name + " is " + have.dump() + ", not " + want.dump());
  }

  const std::string& rule_;
  const Json& trace_;
  Subject& subject_;
  Tally& tally_;
};

/// flax's and Keras's computed scales, each as a trace of one step.
inline Json trace_of_scale(const Json& given) {
  const bool e5m2 = number(given.at("fp8_max")) == 57344.0f;
  Json trace{{"params", {{"margin", given.at("margin")}, {"dtype", e5m2 ? "float8_e5m2" : "float8_e4m3fn"}}},
             {"start", {{"scale", given.at("scale")}, {"amax_history", Json::array({given.at("amax")})}}},
             {"why", "a computed scale"}};
  trace["steps"] = Json::array({{{"amax", 0.0}, {"after", {{"scale", given.at("out")}}}}});
  return trace;
}

/// Every trace of every rule. `folder` holds the JSON files.
inline Tally run_all(const std::string& folder, Subject& subject) {
  Tally tally;
  for (const std::string rule :
       {"transformer_engine", "te_current", "msamp", "flax_fp8", "keras_fp8", "torchao_delayed", "torchao_dynamic"}) {
    std::ifstream file(folder + "/" + rule + ".json");
    const Json vectors = Json::parse(file);
    for (const Json& trace : vectors.at("traces")) Trace(rule, trace, subject, tally).run();
    if (!vectors.contains("compute_scale")) continue;
    for (const Json& given : vectors.at("compute_scale")) Trace(rule, trace_of_scale(given), subject, tally).run();
  }
  std::cout << "fp8: " << tally.traces << " traces, " << tally.steps << " steps, " << tally.differences.size()
            << " differences (" << tally.of_the_formula_alone << " more traces are of the formula alone)\n";
  for (std::size_t i = 0; i < tally.differences.size() && i < 20; ++i)
    std::cout << "  " << tally.differences[i] << '\n';
  return tally;
}

}  // namespace tare::fp8_vectors
