// Every trace through the policy tables alone, as a scaler runs it: parameters and state by name, steps by policy id.
#include <cstdio>
#include <set>

#include "kernels/rule/policy.hpp"
#include "tests/catch.hpp"
#include "tests/unit/rule/traces.hpp"

using namespace tare;
using namespace tare::rule;
using namespace tare::test;

namespace {

/// Vector files of other tests: unscaling, the FP8 rules, and a rule that no framework runs.
const std::set<std::string> others = {"torch_unscale",
                                      "block_scales",
                                      "quantized",
                                      "te_current",
                                      "transformer_engine",
                                      "flax_fp8",
                                      "keras_fp8",
                                      "msamp",
                                      "mindformers_adaptive_paper",
                                      "torchao_delayed",
                                      "torchao_dynamic"};
/// The rules that must be there.
const std::set<std::string> rules = {
    "apex",
    "apex_contrib",
    "apex_fp16_utils",
    "colossalai",
    "bmtrain",
    "oneflow",
    "torch_npu",
    "deepspeed",
    "fairseq",
    "flax",
    "jmp",
    "keras",
    "layerwise",
    "megatron",
    "mindspore",
    "mindspore_amp",
    "nemo",
    "mindspore_manager",
    "mindformers_adaptive",
    "paddle",
    "paddle_static",
    "tf_keras",
    "torch",
};

class Scaler {
 public:
  Scaler(const std::string& rule, const Json& params) : spec_(*find_spec(rule, params)), policy_(make_policy(spec_)) {
    for (const auto& [key, value] : params.items()) {
      if (key != spec_.variant_key) set_parameter(key, value);
    }
    prepare(policy_);
    state_ = initial_state(policy_);
  }

  const PolicySpec& spec() const { return spec_; }
  std::string fault() const { return find_fault(spec_, policy_.params); }
  const RuleState& state() const { return state_; }
  void restore(const RuleState& state) { state_ = state; }

  Number field(const std::string& name) const {
    const FieldSpec* field = find_field(spec_, name);
    INFO("field " << name);
    REQUIRE(field != nullptr);
    const bool present = field->present == nullptr || field->present(policy_.params);
    return present ? field->read(state_) : Number{};
  }

  void set_field(const std::string& name, const Json& value) {
    const FieldSpec* field = find_field(spec_, name);
    INFO("field " << name);
    REQUIRE(field != nullptr);
    if (value.is_null()) return;  // deepspeed's static wrapper: it has no such attribute
    REQUIRE(field->write(state_, number_of(value)) == Assigned::done);
  }

  Outcome<RuleState> step(const Json& step) {
    if (step.contains("new_scale")) return with_scale(policy_, state_, number_of(step["new_scale"]).real);
    if (step.contains("statistics")) return step_by_statistics(step["statistics"]);
    return next(policy_, state_, step["overflow"].get<bool>());
  }

 private:
  static const PolicySpec* find_spec(const std::string& rule, const Json& params) {
    const PolicySpec* spec = find_policy(rule);
    REQUIRE(spec != nullptr);
    const std::string key(spec->variant_key);
    if (!key.empty() && params.contains(key)) spec = find_policy(rule, params[key].get<std::string>());
    REQUIRE(spec != nullptr);
    return spec;
  }

  void set_parameter(const std::string& key, const Json& value) {
    const ParameterSpec* parameter = find_parameter(spec_, key);
    INFO("parameter " << key);
    REQUIRE(parameter != nullptr);
    Number number;
    if (value.is_array()) {
      REQUIRE(write_list(policy_.params, *parameter, value.get<std::vector<int64_t>>()) == Assigned::done);
      return;
    }
    if (value.is_string() && parameter->type == ValueType::word) {
      for (const Word& word : parameter->words) {
        if (word.text == value.get<std::string>()) number = integer_number(word.value);
      }
      REQUIRE(number.kind == NumberKind::integer);
    } else if (!(value.is_string() && value.get<std::string>() == parameter->unset)) {
      number = number_of(value);
    }
    REQUIRE(write_parameter(policy_.params, *parameter, number) == Assigned::done);
    const Number read = read_parameter(policy_.params, *parameter);
    CHECK(
        ((read.kind == NumberKind::none && number_is_unset(*parameter, number)) || value_of(read) == value_of(number)));
  }

  static bool number_is_unset(const ParameterSpec& parameter, const Number& number) {
    return number.kind == NumberKind::none || value_of(number) == value_of(parameter.unset_value);
  }

  Outcome<RuleState> step_by_statistics(const Json& seen) {
    const auto real = [&](const char* name) { return number_of(seen[name]).real; };
    const auto single = [&](const char* name) { return static_cast<float>(real(name)); };
    const LayerStatistics statistics{single("gradient_mean"),    single("gradient_deviation"), single("weight_mean"),
                                     single("weight_deviation"), single("largest_product"),    real("fan_in"),
                                     real("prev_scale")};
    const auto outcome = next(state_.layerwise, policy_.params.layerwise, statistics);
    RuleState state;
    state.layerwise = outcome.state;
    return {state, outcome.raised, outcome.skip};
  }

  const PolicySpec& spec_;
  Policy policy_;
  RuleState state_;
};

void compare(const Scaler& scaler, const Json& expected, Tally& tally) {
  for (const auto& [name, value] : expected.items()) {
    const Number actual = scaler.field(name);
    if (same(number_of(value), actual)) continue;
    ++tally.differences;
    FAIL_CHECK(name << " is " << shown(actual) << ", the framework has " << value);
  }
}

/// What no number says: Python refuses an int and tensors of a dimension before any rule runs.
bool is_python_only(const Json& step) {
  const std::string type = step.value("new_scale_type", "");
  return (step.contains("error") && (type == "int" || (step.contains("new_scale") && step["new_scale"].is_array()))) ||
         (step.contains("found_inf") && step["found_inf"].is_array() && step["found_inf"].empty());
}

void run_step(Scaler& scaler, const Json& step, Tally& tally) {
  if (is_python_only(step)) return compare(scaler, step["after"], tally);
  const int64_t repeat = step.value("repeat", int64_t{1});
  for (int64_t i = 0; i < repeat; ++i) {
    const RuleState before = scaler.state();
    const Outcome<RuleState> outcome = scaler.step(step);
    ++tally.steps;
    const Raised raised = step.contains("error") ? raised_of(step["error"]) : Raised::nothing;
    if (outcome.raised != raised) {
      ++tally.differences;
      FAIL_CHECK("raised " << static_cast<int>(outcome.raised) << ", not " << static_cast<int>(raised));
    }
    if (step.contains("skipped")) CHECK(outcome.skip == step["skipped"].get<bool>());
    const bool told = step.contains("after");
    if (!told) CHECK(scale_of(scaler.spec().id, outcome.state) == scale_of(scaler.spec().id, before));
    scaler.restore(outcome.state);
  }
  if (step.contains("after")) compare(scaler, step["after"], tally);
}

bool starts_by_parameters(const Scaler& scaler, const Json& trace) {
  for (const ParameterSpec& parameter : scaler.spec().parameters) {
    if (parameter.role == "initial_scale" && trace["params"].contains(std::string(parameter.name))) return true;
  }
  return false;
}

void run_trace(const std::string& rule, const Json& trace, Tally& tally) {
  CAPTURE(rule, trace["why"].get<std::string>());
  ++tally.traces;
  Scaler scaler(rule, trace["params"]);
  const Json start = trace.value("start", Json::object());
  if (trace["steps"].size() == 1 && !trace["steps"][0].contains("after") && start.empty()) {
    ++tally.steps;
    CHECK_FALSE(scaler.fault().empty());  // the framework refuses these parameters
    return;
  }
  if (starts_by_parameters(scaler, trace)) compare(scaler, start, tally);
  for (const auto& [name, value] : start.items()) scaler.set_field(name, value);
  for (std::size_t i = 0; i < trace["steps"].size(); ++i) {
    CAPTURE(i);
    run_step(scaler, trace["steps"][i], tally);
  }
}

}  // namespace

TEST_CASE("every policy reproduces its framework's traces to the bit, through the tables") {
  Tally all;
  std::set<std::string> seen;
  for (const VectorFile& file : vector_files()) {
    if (others.count(file.rule) != 0) continue;
    Tally tally;
    for (const Json& trace : file.content["traces"]) run_trace(file.rule, trace, tally);
    CHECK(tally.traces == static_cast<int64_t>(file.content["traces"].size()));
    std::printf("tables: %-20s %3lld traces %6lld steps %lld differences\n", file.rule.c_str(),
                static_cast<long long>(tally.traces), static_cast<long long>(tally.steps),
                static_cast<long long>(tally.differences));
    seen.insert(file.rule);
    all.traces += tally.traces;
    all.steps += tally.steps;
    all.differences += tally.differences;
  }
  std::printf("tables: %-20s %3lld traces %6lld steps %lld differences\n", "together",
              static_cast<long long>(all.traces), static_cast<long long>(all.steps),
              static_cast<long long>(all.differences));
  CHECK(seen == rules);
  CHECK(all.differences == 0);
}

TEST_CASE("mindformers' window lists are those of the framework") {
  for (const VectorFile& file : vector_files()) {
    if (file.rule != "mindformers_adaptive") continue;
    REQUIRE(file.content["window_lists"].size() == 12);
    for (const Json& expected : file.content["window_lists"]) {
      const WindowList list = window_levels(expected["max_scale_window"], expected["min_scale_window"]);
      CHECK(std::vector<int32_t>(list.values, list.values + list.count) ==
            expected["window_list"].get<std::vector<int32_t>>());
    }
  }
}

TEST_CASE("the longest window list fits") {
  CHECK(window_levels(INT32_MAX, 1).count < WindowList::capacity);
  CHECK(window_levels(99, 1).count == 197);
  CHECK(window_levels(200, 1).count == 101);
}
