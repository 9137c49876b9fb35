// What a state written by hand or by another program may look like: names in either spelling, numbers as JSON has them,
// as hex floats, or alone in an array.
#include <tare/tare.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"

namespace {

using Json = nlohmann::ordered_json;

Json taken(tare_text* text) {
  Json json = Json::parse(tare_text_data(text));
  tare_text_destroy(text);
  return json;
}

Json policies() {
  tare_text* text = nullptr;
  REQUIRE(tare_policies(&text, nullptr) == TARE_OK);
  return taken(text).at("policies");
}

/// Another one for each field, and one that every type holds; of a level one that there is.
double value_of(const Json& field, std::size_t place) {
  if (field.at("role") == "window_index") return 1.0;
  return field.at("type") == "bool" ? 1.0 : std::exp2(static_cast<double>(place + 1));
}

std::string name_of(const Json& field, std::string_view spelling) {
  return field.at(spelling).is_null() ? field.at("name") : field.at(spelling);
}

/// The parameters under which the policy has all of its fields.
Json params_of(const Json& policy) {
  Json params = Json::object();
  if (!policy.at("variant").is_null())
    params[policy.at("policy") == "mindspore" ? "kind" : "variant"] = policy["variant"];
  for (const Json& parameter : policy.at("parameters")) {
    if (parameter.at("name") == "dynamic_loss_scale") params["dynamic_loss_scale"] = true;
  }
  return params;
}

/// What a scaler made from that state saves.
Json saved_fields(const Json& state) {
  const std::string text = state.dump();
  INFO(text);
  tare_error error = TARE_ERROR_INIT;
  tare_state* given = nullptr;
  tare_scaler* scaler = nullptr;
  tare_state* saved = nullptr;
  const int32_t parsed = tare_state_from_json(&given, text.data(), text.size(), &error);
  INFO(error.message);
  REQUIRE(parsed == TARE_OK);
  REQUIRE(tare_scaler_create_from_state(&scaler, given, nullptr, &error) == TARE_OK);
  REQUIRE(tare_scaler_save(&saved, scaler, nullptr, &error) == TARE_OK);
  tare_text* json = nullptr;
  REQUIRE(tare_state_to_json(&json, saved, nullptr) == TARE_OK);
  tare_state_destroy(given);
  tare_state_destroy(saved);
  tare_scaler_destroy(scaler);
  return taken(json).at("fields");
}

struct Form {
  const char* words;
  Json (*written)(double);
};

constexpr Form forms[] = {
    {"a number", [](double value) { return Json(value); }},
    {"a hex float",
     [](double value) {
       char text[32];
       std::snprintf(text, sizeof text, "%a", value);
       return Json(text);
     }},
    {"an array of one number", [](double value) { return Json::array({value}); }},
    {"a matrix of one number", [](double value) { return Json::array({Json::array({value})}); }},
};

}  // namespace

TEST_CASE("every field of every policy is taken in either spelling and in every form of a number") {
  std::size_t other_spellings = 0;
  for (const Json& policy : policies()) {
    for (const char* spelling : {"name", "also"}) {
      for (const Form& form : forms) {
        INFO(policy.at("policy") << " " << policy.at("variant") << ", " << spelling << ", " << form.words);
        Json state{{"policy", policy.at("policy")}, {"params", params_of(policy)}, {"fields", Json::object()}};
        Json expected = Json::object();
        for (const Json& field : policy.at("fields")) {
          const double value = value_of(field, expected.size());
          state["fields"][name_of(field, spelling)] = form.written(value);
          expected[field.at("name").get<std::string>()] = value;
          other_spellings += name_of(field, spelling) != field.at("name").get<std::string>();
        }
        const Json fields = saved_fields(state);
        REQUIRE(fields.size() == expected.size());
        for (const auto& [name, value] : expected.items()) {
          INFO(name << " is " << fields.at(name));
          const Json& held = fields.at(name);
          CHECK((held.is_boolean() ? Json(held ? 1.0 : 0.0) : held) == value);
        }
      }
    }
  }
  CHECK(other_spellings > 0);
}

TEST_CASE("an array of several numbers is no number") {
  const std::string text = R"({"policy":"torch","fields":{"scale":[512.0, 512.0],"_growth_tracker":0}})";
  tare_error error = TARE_ERROR_INIT;
  tare_state* state = nullptr;
  CHECK(tare_state_from_json(&state, text.data(), text.size(), &error) == TARE_E_MISMATCH);
  CHECK(state == nullptr);
  CHECK_THAT(error.message, Catch::Contains("scale"));
}
