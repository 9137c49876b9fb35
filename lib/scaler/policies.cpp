#include "lib/codec/json.hpp"
#include "lib/codec/json_text.hpp"
#include "lib/scaler/scaler.hpp"
#include "lib/state/policy_value.hpp"

namespace tare {
namespace {

using json::Array;
using json::Json;

std::string_view name_of(rule::ValueType type) {
  switch (type) {
    case rule::ValueType::real32:
      return "float32";
    case rule::ValueType::real64:
      return "float64";
    case rule::ValueType::integer32:
      return "int32";
    case rule::ValueType::integer64:
      return "int64";
    case rule::ValueType::boolean:
      return "bool";
    case rule::ValueType::number:
      return "int or float";
    case rule::ValueType::word:
      return "word";
    case rule::ValueType::integers:
      return "list of int32";
  }
  return {};
}

Json text_or_null(std::string_view text) {
  return text.empty() ? Json() : Json(text);
}

Json json_of(const rule::ParameterSpec& parameter, const rule::RuleParams& defaults) {
  json::Members members;
  members.add("name", parameter.name);
  members.add("role", text_or_null(parameter.role));
  members.add("type", name_of(parameter.type));
  members.add("default", json::parse(value_to_json(value_of(defaults, parameter)), "a default", Status::internal));
  members.add("range", rule::range_text(parameter));
  members.add("meaning", parameter.meaning);
  return members.take();
}

Json json_of(const rule::FieldSpec& field) {
  json::Members members;
  members.add("name", field.name);
  members.add("also", text_or_null(field.stored));
  members.add("role", text_or_null(field.role));
  members.add("type", name_of(field.type));
  return members.take();
}

Json json_of(const rule::PolicySpec& spec) {
  rule::Policy usual = rule::make_policy(spec);
  rule::prepare(usual);
  const rule::RuleParams& defaults = usual.params;
  Array parameters;
  for (const auto& parameter : spec.parameters) parameters.push_back(json_of(parameter, defaults));
  Array fields;
  for (const auto& field : spec.fields) fields.push_back(json_of(field));
  json::Members members;
  members.add("policy", spec.name);
  members.add("variant", text_or_null(spec.variant));
  members.add("framework", spec.framework);
  members.add("summary", spec.summary);
  members.add("driver", spec.driver == rule::Driver::statistics ? "statistics" : "overflow");
  members.add("parameters", std::move(parameters));
  members.add("fields", std::move(fields));
  return members.take();
}

}  // namespace

std::string policies_json() {
  Array policies;
  for (const rule::PolicySpec& spec : rule::policies()) policies.push_back(json_of(spec));
  json::Members members;
  members.add("schema", "tare.policies/1");
  members.add("policies", std::move(policies));
  return json::text_of(members.take());
}

}  // namespace tare
