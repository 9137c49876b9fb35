// Drives anything that runs scalers through the traces of the real frameworks in tests/vectors/, and counts what
// differs.
#pragma once

#include <cmath>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tare::vectors {

using Json = nlohmann::ordered_json;

/// What runs: a scaler behind some interface. Functions give the error's text, or nothing.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual std::optional<std::string> create(const std::string& config) = 0;
  virtual std::optional<std::string> create_from_state(const std::string& state) = 0;
  virtual std::optional<std::string> report_overflow(bool overflow) = 0;
  virtual std::optional<std::string> report_layer(const Json& statistics) = 0;
  virtual std::optional<std::string> update() = 0;
  virtual std::optional<std::string> set_scale(double scale) = 0;
  virtual std::string state() = 0;
};

inline const std::vector<std::string>& rules() {
  static const std::vector<std::string> all{"torch",
                                            "apex",
                                            "apex_contrib",
                                            "apex_fp16_utils",
                                            "nemo",
                                            "megatron",
                                            "deepspeed",
                                            "mindspore",
                                            "mindspore_amp",
                                            "mindspore_manager",
                                            "mindformers_adaptive",
                                            "paddle",
                                            "paddle_static",
                                            "keras",
                                            "tf_keras",
                                            "flax",
                                            "jmp",
                                            "fairseq",
                                            "colossalai",
                                            "bmtrain",
                                            "oneflow",
                                            "torch_npu",
                                            "layerwise"};
  return all;
}

struct Tally {
  std::size_t traces = 0;
  std::size_t steps = 0;
  std::vector<std::string> differences;
};

inline double number(const Json& json) {
  return json.is_string() ? std::strtod(json.get<std::string>().c_str(), nullptr) : json.get<double>();
}

inline bool same(const Json& want, const Json& have) {
  const double a = number(want);
  const double b = number(have);
  const bool kind = !want.is_number_integer() || have.is_number_integer();
  return kind && ((std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b)));
}

/// A layer's statistics as `Layer` holds them: the library's struct or the C ABI's, whose names are the same.
template <class Layer>
Layer layer_of(const Json& statistics) {
  const auto single = [&](const char* name) { return static_cast<float>(number(statistics.at(name))); };
  Layer layer{};
  layer.gradient_mean = single("gradient_mean");
  layer.gradient_deviation = single("gradient_deviation");
  layer.weight_mean = single("weight_mean");
  layer.weight_deviation = single("weight_deviation");
  layer.largest_product = single("largest_product");
  layer.fan_in = number(statistics.at("fan_in"));
  layer.prev_scale = number(statistics.at("prev_scale"));
  return layer;
}

class Trace {
 public:
  Trace(const std::string& rule, const Json& trace, Subject& subject, Tally& tally)
      : rule_(rule), trace_(trace), subject_(subject), tally_(tally) {}

  void run() {
    ++tally_.traces;
    const Json& steps = trace_.at("steps");
    const bool goes = steps.size() > 1 || steps[0].contains("overflow") || steps[0].contains("new_scale");
    if (!goes) return refuse_to_make();
    const Json start = trace_.value("start", Json::object());
    Json state{{"policy", rule_}, {"params", trace_.at("params")}, {"fields", start}};
    if (const auto error = subject_.create_from_state(state.dump())) return differ("made: " + *error);
    for (const Json& step : steps) take(step);
  }

 private:
  void differ(const std::string& what) {
    tally_.differences.push_back(rule_ + ": " + trace_.value("why", "") + ": step " + std::to_string(tally_.steps) +
                                 ": " + what);
  }

  void refuse_to_make() {
    ++tally_.steps;
    Json config{{"policy", rule_}};
    for (const auto& [name, value] : trace_.at("params").items()) config[name] = value;
    if (!subject_.create(config.dump())) differ("a configuration that the framework refuses was taken");
  }

  void take(const Json& step) {
    if (step.contains("new_scale") && !is_plain(step)) return;  // refused for its Python type
    const Json before = fields();
    std::optional<std::string> error;
    for (int64_t i = 0; i < step.value("repeat", int64_t{1}); ++i) {
      ++tally_.steps;
      error = step.contains("new_scale") ? subject_.set_scale(number(flat(step.at("new_scale")))) : update(step);
    }
    if (error.has_value() != step.contains("error")) differ(error ? "raised: " + *error : "did not raise");
    if (step.contains("after")) return compare(step.at("after"));
    if (!step.contains("statistics")) compare(before);  // a layer that raises has counted the step
  }

  static const Json& flat(const Json& value) { return value.is_array() ? value.at(0) : value; }

  static bool is_plain(const Json& step) {
    const std::string type = step.at("new_scale_type");
    return type == "float" || (type.starts_with("tensor:") && !step.contains("error"));
  }

  std::optional<std::string> update(const Json& step) {
    if (step.contains("statistics")) {
      if (auto error = subject_.report_layer(step.at("statistics"))) return error;
    } else if (step.contains("found_inf") && step.at("found_inf").is_array()) {
      for (const Json& found : step.at("found_inf")) subject_.report_overflow(number(found) != 0);
    } else {
      subject_.report_overflow(step.at("overflow").get<bool>());
    }
    return subject_.update();
  }

  Json fields() { return Json::parse(subject_.state()).at("fields"); }

  void compare(const Json& after) {
    const Json have = fields();
    for (const auto& [name, want] : after.items()) {
      const std::string key = have.contains(name) ? name : "_" + name;
      if (want.is_null()) {
        if (have.contains(key)) differ(name + " is there");
      } else if (!have.contains(key)) {
        differ("no field " + name);
      } else if (!same(want, have.at(key))) {
        differ(name + " is " + have.at(key).dump() + ", not " + want.dump());
      }
    }
  }

  const std::string& rule_;
  const Json& trace_;
  Subject& subject_;
  Tally& tally_;
};

/// Every trace of every rule. `folder` holds the JSON files.
inline Tally run_all(const std::string& folder, Subject& subject) {
  Tally tally;
  for (const std::string& rule : rules()) {
    std::ifstream file(folder + "/" + rule + ".json");
    const Json vectors = Json::parse(file);
    for (const Json& trace : vectors.at("traces")) Trace(rule, trace, subject, tally).run();
  }
  std::cout << tally.traces << " traces, " << tally.steps << " steps, " << tally.differences.size() << " differences\n";
  for (std::size_t i = 0; i < tally.differences.size() && i < 20; ++i)
    std::cout << "  " << tally.differences[i] << '\n';
  return tally;
}

}  // namespace tare::vectors
