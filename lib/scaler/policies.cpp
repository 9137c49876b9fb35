#include "lib/codec/json.hpp"
#include "lib/codec/json_text.hpp"
#include "lib/scaler/scaler.hpp"
#include "lib/state/policy_value.hpp"

namespace tare {
namespace {

using json::Json;

std::string_view name_of(rule::ValueType type) {
  switch (type) {
    case rule::ValueType::kReal32:
      return "float32";
    case rule::ValueType::kReal64:
      return "float64";
    case rule::ValueType::kInteger32:
      return "int32";
    case rule::ValueType::kInteger64:
      return "int64";
    case rule::ValueType::kBoolean:
      return "bool";
    case rule::ValueType::kNumber:
      return "int or float";
    case rule::ValueType::kWord:
      return "word";
    case rule::ValueType::kIntegers:
      return "list of int32";
  }
  return {};
}

Json text_or_null(std::string_view text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json json_of(const rule::ParameterSpec& parameter, const rule::RuleParams& defaults) {
  const Json value = json::parse(value_to_json(value_of(defaults, parameter)), "a default", Status::internal);
  return {{"name", parameter.name}, {"role", text_or_null(parameter.role)}, {"type", name_of(parameter.type)},
          {"default", value},       {"range", rule::range_text(parameter)}, {"meaning", parameter.meaning}};
}

Json json_of(const rule::FieldSpec& field) {
  return {{"name", field.name},
          {"also", text_or_null(field.stored)},
          {"role", text_or_null(field.role)},
          {"type", name_of(field.type)}};
}

Json json_of(const rule::PolicySpec& spec) {
  const rule::RuleParams defaults = rule::make_policy(spec).params;
  Json policy{{"policy", spec.name},
              {"variant", text_or_null(spec.variant)},
              {"framework", spec.framework},
              {"summary", spec.summary}};
  policy["parameters"] = Json::array();
  for (const auto& parameter : spec.parameters) policy["parameters"].push_back(json_of(parameter, defaults));
  policy["fields"] = Json::array();
  for (const auto& field : spec.fields) policy["fields"].push_back(json_of(field));
  return policy;
}

}  // namespace

std::string policies_json() {
  Json root{{"schema", "tare.policies/1"}, {"policies", Json::array()}};
  for (const rule::PolicySpec& spec : rule::policies()) root["policies"].push_back(json_of(spec));
  return json::text_of(root);
}

}  // namespace tare
