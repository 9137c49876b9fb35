// Going on from real checkpoints: tare_checkpoint_state and 100 steps, against the rule started from what the
// framework says is in the file.
#include <tare/tare.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

namespace {

using Json = nlohmann::ordered_json;

struct Text {
  tare_text* text = nullptr;
  ~Text() { tare_text_destroy(text); }
};

Json json_of(const tare_state* state) {
  Text text;
  REQUIRE(tare_state_to_json(&text.text, state, nullptr) == TARE_OK);
  return Json::parse(tare_text_data(text.text));
}

/// The fields after some hundred steps, or the error that stopped them.
Json run(const tare_state* state) {
  tare_error error = TARE_ERROR_INIT;
  tare_scaler* scaler = nullptr;
  if (tare_scaler_create_from_state(&scaler, state, nullptr, &error) != TARE_OK) return error.message;
  int32_t status = TARE_OK;
  for (unsigned i = 0; i < 100 && status == TARE_OK; ++i) {
    tare_scaler_report_overflow(scaler, (i * 2654435761u) % 16 == 3 ? 1 : 0, nullptr, nullptr);
    status = tare_scaler_update(scaler, nullptr, nullptr);
  }
  tare_state* after = nullptr;
  REQUIRE(tare_scaler_save(&after, scaler, nullptr, nullptr) == TARE_OK);
  // What was saved also loads into a scaler of that policy.
  CHECK(tare_scaler_load(scaler, after, nullptr, &error) == TARE_OK);
  const Json json = json_of(after);
  tare_state_destroy(after);
  tare_scaler_destroy(scaler);
  return json.at("fields");
}

const Json& unwrapped(const Json& value) {
  const Json* inner = &value;
  while (inner->is_array() && inner->size() == 1) inner = &inner->front();
  return *inner;
}

/// A state from truth.json alone, under the policy that was chosen.
Json state_of(const Json& truth, const Json& found) {
  Json state{{"policy", found.at("policy")},
             {"params", Json::object()},
             {"fields", Json::object()},
             {"roles", Json::object()}};
  for (const char* key : {"variant", "kind"}) {
    if (found.at("params").contains(key)) state["params"][key] = found.at("params").at(key);
  }
  for (const auto& [name, value] : truth.at("fields").items()) {
    const Json& one = unwrapped(value);
    if (one.is_number() || one.is_boolean()) state["fields"][name] = one;
  }
  const Json roles = truth.value("roles", Json::object());
  for (const auto& [name, value] : roles.items()) state["roles"][name] = unwrapped(value);
  return state;
}

}  // namespace

TEST_CASE("scalers resume from real checkpoints as their frameworks' rules do") {
  namespace fs = std::filesystem;
  std::size_t resumed = 0;
  std::size_t without_policy = 0;
  for (const auto& entry : fs::recursive_directory_iterator(TARE_TEST_DATA "/corpus")) {
    if (entry.path().filename() != "truth.json") continue;
    std::ifstream file(entry.path());
    const Json truth = Json::parse(file);
    const std::string container = truth.value("container", "");
    if (truth.contains("expect") || (container != "torch_zip" && container != "torch_legacy")) continue;
    const Json scalers = truth.value("scalers", Json::array());
    for (const Json& scaler : scalers) {
      if (scaler.value("kind", "") != "loss_scale") continue;
      const std::string path = (entry.path().parent_path() / truth.at("target").get<std::string>()).string();
      INFO(path << " " << scaler.dump());
      tare_error error = TARE_ERROR_INIT;
      tare_state* state = nullptr;
      const std::string at = scaler.at("path");
      const int32_t status =
          tare_checkpoint_state(&state, path.c_str(), scalers.size() > 1 ? at.c_str() : nullptr, &error);
      if (status == TARE_E_UNSUPPORTED || status == TARE_E_CONFLICT) {
        ++without_policy;
        continue;
      }
      INFO(error.message);
      REQUIRE(status == TARE_OK);
      const std::string wanted = state_of(scaler, json_of(state)).dump();
      tare_state* expected = nullptr;
      const int32_t parsed = tare_state_from_json(&expected, wanted.data(), wanted.size(), &error);
      INFO(wanted);
      INFO(error.message);
      REQUIRE(parsed == TARE_OK);
      CHECK(run(state) == run(expected));
      tare_state_destroy(expected);
      tare_state_destroy(state);
      ++resumed;
    }
  }
  std::cout << resumed << " scalers resumed, " << without_policy << " that no policy runs or whose copies disagree\n";
  CHECK(resumed > 100);
}
