#include "kernels/rule/policy.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <vector>

#include "kernels/rule/tables.hpp"

namespace tare::rule {
namespace {

std::vector<PolicySpec> joined_tables() {
  std::vector<PolicySpec> all;
  for (const std::span<const PolicySpec> table : {pytorch_policies(), other_policies()}) {
    all.insert(all.end(), table.begin(), table.end());
  }
  return all;
}

/// nan is equal to nan here: it stands for "not set" in some structs.
bool same_value(const Number& a, const Number& b) {
  return a.kind == b.kind && a.integer == b.integer &&
         std::bit_cast<uint64_t>(a.real) == std::bit_cast<uint64_t>(b.real);
}

std::string text_of(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

std::string text_of(const Number& value) {
  switch (value.kind) {
    case NumberKind::none:
      return "null";
    case NumberKind::boolean:
      return value.integer != 0 ? "true" : "false";
    case NumberKind::integer:
      return std::to_string(value.integer);
    case NumberKind::real:
      break;
  }
  return text_of(value.real);
}

bool allows(const Range& range, double value) {
  if (!is_finite(value)) return false;
  const bool high_enough = range.low_included ? value >= range.low : value > range.low;
  const bool low_enough = range.high_included ? value <= range.high : value < range.high;
  return high_enough && low_enough;
}

bool allows(const ParameterSpec& spec, const Number& value) {
  if (value.kind == NumberKind::none) return !spec.unset.empty() || spec.list != nullptr;
  if (value.kind == NumberKind::boolean) return true;
  if (spec.words.empty()) return allows(spec.range, value_of(value));
  return std::any_of(spec.words.begin(), spec.words.end(),
                     [&](const Word& word) { return word.value == value.integer; });
}

std::string listed(std::span<const Word> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i].text;
  }
  return text;
}

}  // namespace

std::span<const PolicySpec> policies() {
  static const std::vector<PolicySpec> all = joined_tables();
  return all;
}

const PolicySpec& spec_of(PolicyId id) {
  const auto all = policies();
  return *std::find_if(all.begin(), all.end(), [&](const PolicySpec& spec) { return spec.id == id; });
}

const PolicySpec* find_policy(std::string_view name, std::string_view variant) {
  for (const PolicySpec& spec : policies()) {
    if (spec.name == name && (variant.empty() || spec.variant == variant)) return &spec;
  }
  return nullptr;
}

std::string_view variant_key_of(std::string_view name) {
  for (const PolicySpec& spec : policies()) {
    if (spec.name == name && !spec.variant_key.empty()) return spec.variant_key;
  }
  return {};
}

const ParameterSpec* find_parameter(const PolicySpec& spec, std::string_view key) {
  if (key.empty()) return nullptr;
  for (const ParameterSpec& parameter : spec.parameters) {
    if (parameter.name == key) return &parameter;
  }
  for (const ParameterSpec& parameter : spec.parameters) {
    if (parameter.role == key) return &parameter;
  }
  return nullptr;
}

const FieldSpec* find_field(const PolicySpec& spec, std::string_view key) {
  if (key.empty()) return nullptr;
  for (const FieldSpec& field : spec.fields) {
    if (field.name == key || field.stored == key) return &field;
  }
  for (const FieldSpec& field : spec.fields) {
    if (field.role == key) return &field;
  }
  return nullptr;
}

Policy make_policy(const PolicySpec& spec) {
  Policy policy;
  policy.id = spec.id;
  policy.params = spec.defaults();
  return policy;
}

void prepare(Policy& policy) {
  if (policy.id == PolicyId::mindformers_adaptive) {
    MindformersAdaptiveParams& own = policy.params.mindformers_adaptive;
    own.window_list = window_list_of(own);
    if (own.scale_window == 0) own.scale_window = own.window_list.values[0];
  }
  if (policy.id == PolicyId::mindformers_adaptive_paper) {
    MindformersAdaptivePaperParams& own = policy.params.mindformers_adaptive_paper;
    own.window_list = window_list_of(own);
  }
  if (policy.id == PolicyId::layerwise) {
    LayerwiseParams& own = policy.params.layerwise;
    own.quantile = layerwise_quantile(own.n_uf_threshold);
  }
}

Number read_parameter(const RuleParams& params, const ParameterSpec& spec) {
  const Number value = spec.read(params);
  return !spec.unset.empty() && same_value(value, spec.unset_value) ? Number{} : value;
}

Assigned write_parameter(RuleParams& params, const ParameterSpec& spec, const Number& value) {
  if (value.kind != NumberKind::none) return spec.write(params, value);
  return spec.unset.empty() ? Assigned::wrong_kind : spec.write(params, spec.unset_value);
}

Assigned write_list(RuleParams& params, const ParameterSpec& spec, std::span<const int64_t> values) {
  if (spec.list == nullptr) return Assigned::wrong_kind;
  if (values.empty() || values.size() > static_cast<std::size_t>(WindowList::capacity)) return Assigned::out_of_range;
  WindowList list;
  for (const int64_t value : values) {
    if (value < 0 || value > INT32_MAX) return Assigned::out_of_range;
    list.values[list.count++] = static_cast<int32_t>(value);
  }
  spec.list(params) = list;
  return Assigned::done;
}

std::string find_fault(const PolicySpec& spec, const RuleParams& params) {
  for (const ParameterSpec& parameter : spec.parameters) {
    const Number value = read_parameter(params, parameter);
    if (allows(parameter, value)) continue;
    return std::string(parameter.name) + " is " + text_of(value) + ", allowed: " + range_text(parameter);
  }
  const char* relation = spec.relation == nullptr ? nullptr : spec.relation(params);
  return relation == nullptr ? std::string() : relation;
}

std::string range_text(const ParameterSpec& spec) {
  if (!spec.words.empty()) return listed(spec.words);
  if (spec.type == ValueType::boolean) return "true or false";
  const Range& range = spec.range;
  std::string text;
  if (is_finite(range.low)) text = (range.low_included ? "at least " : "more than ") + text_of(range.low);
  if (is_finite(range.high)) {
    if (!text.empty()) text += " and ";
    text += (range.high_included ? "at most " : "less than ") + text_of(range.high);
  }
  if (text.empty()) text = "any finite number";
  return spec.unset.empty() ? text : text + ", or " + std::string(spec.unset);
}

std::string message_of(const Policy& policy, Raised raised) {
  const PolicySpec& spec = spec_of(policy.id);
  const auto value = [&](std::string_view name) {
    const ParameterSpec* parameter = find_parameter(spec, name);
    return parameter == nullptr ? std::string("?") : text_of(read_parameter(policy.params, *parameter));
  };
  switch (raised) {
    case Raised::nothing:
      break;
    case Raised::scale_at_minimum:
      return "an overflow with the scale already at min_scale " + value("min_scale");
    case Raised::minimum_reached:
      return "an overflow takes the scale to min_loss_scale " + value("min_loss_scale") + " or below";
    case Raised::too_many_overflows:
      return "more than bad_step_max " + value("bad_step_max") + " overflows in a row";
    case Raised::division_by_zero:
      return "the rule divides by zero: a scale, factor, window or count is 0";
    case Raised::mixed_types:
      return "a float16 or bfloat16 scale cannot be compared with the float32 default of min_loss_scale";
    case Raised::no_inf_checks:
      return "an update without any recorded check for infinities";
    case Raised::scale_too_large:
      return "the new scale is beyond what the policy's type holds";
    case Raised::window_outside_list:
      return "list_index points outside the window list";
    case Raised::invalid_scale:
      return "the statistics give no finite scale";
    case Raised::no_scaler:
      return "without a scaler there is no scale to set";
  }
  return {};
}

}  // namespace tare::rule
