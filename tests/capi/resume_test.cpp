// Going on from real checkpoints, as a resuming program does: the state that tare finds goes into a scaler of the
// policy that the framework runs. Held against the rule started from what truth.json says is in the file, 100 steps on.
#include <tare/tare.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/places.hpp"

namespace {

using Json = nlohmann::ordered_json;

/// What goes on with a dialect's state, by the frameworks' own sources. Where a dialect has several, a word of what the
/// case says of its writer and fields tells. The first row that fits counts.
struct Row {
  std::string_view dialect;
  std::string_view word;
  const char* config;
};

constexpr Row rows[] = {
    {"torch", R"("dynamic")", R"({"policy":"torch_npu"})"},
    {"torch", "", R"({"policy":"torch"})"},
    {"nemo", "", R"({"policy":"nemo"})"},
    {"apex", "apex.contrib", R"({"policy":"apex_contrib"})"},
    {"apex", "2018-12", R"({"policy":"apex_fp16_utils"})"},
    {"apex", "", R"({"policy":"apex"})"},
    {"megatron", "", R"({"policy":"megatron"})"},
    {"deepspeed", "FP16_UnfusedOptimizer", R"({"policy":"deepspeed","variant":"unfused"})"},
    {"deepspeed", "FP16_Optimizer", R"({"policy":"deepspeed","variant":"fused"})"},
    {"deepspeed", R"("dynamic":false)", R"({"policy":"deepspeed","variant":"static"})"},
    {"deepspeed", "", R"({"policy":"deepspeed","variant":"zero"})"},
    {"fairseq", "", R"({"policy":"fairseq"})"},
    {"colossalai", "", R"({"policy":"colossalai"})"},
    {"bmtrain", "", R"({"policy":"bmtrain"})"},
    {"internevo", "", R"({"policy":"colossalai"})"},
    {"mmcv", R"("static")", R"({"policy":"constant"})"},
    {"mmcv", "", R"({"policy":"apex_fp16_utils"})"},
    {"oneflow", "", R"({"policy":"oneflow"})"},
    {"mindspore", "current_iterator_step", R"({"policy":"mindspore","kind":"dynamic"})"},
    {"mindspore", "", R"({"policy":"mindspore","kind":"fixed"})"},
    {"mindspore_amp", "", R"({"policy":"mindspore_amp"})"},
    {"mindformers_adaptive", "", R"({"policy":"mindformers_adaptive"})"},
    {"paddle", "", R"({"policy":"paddle"})"},
    {"paddle_static", "", R"({"policy":"paddle_static"})"},
    {"keras", "", R"({"policy":"keras"})"},
    {"tf_keras", "", R"({"policy":"tf_keras"})"},
    {"flax", "", R"({"policy":"flax"})"},
    {"jmp", "static", R"({"policy":"constant"})"},
    {"jmp", "", R"({"policy":"jmp"})"},
};

/// Null for a dialect whose state nothing runs.
const char* config_for(const Json& truth, const Json& scaler) {
  const std::string words = truth.at("writer").get<std::string>() + scaler.at("fields").dump();
  const auto row = std::ranges::find_if(rows, [&](const Row& one) {
    return scaler.at("dialect") == one.dialect && words.find(one.word) != std::string::npos;
  });
  return row == std::end(rows) ? nullptr : row->config;
}

Json json_of(const tare_state* state) {
  tare_text* text = nullptr;
  REQUIRE(tare_state_to_json(&text, state, nullptr) == TARE_OK);
  Json json = Json::parse(tare_text_data(text));
  tare_text_destroy(text);
  return json;
}

/// All that the scaler is after some hundred steps, or after the one at which its rule raised. Destroys it.
Json run(tare_scaler* scaler) {
  int32_t status = TARE_OK;
  for (unsigned i = 0; i < 100 && status == TARE_OK; ++i) {
    tare_scaler_report_overflow(scaler, (i * 2654435761u) % 16 == 3 ? 1 : 0, nullptr, nullptr);
    status = tare_scaler_update(scaler, nullptr, nullptr);
  }
  tare_state* after = nullptr;
  REQUIRE(tare_scaler_save(&after, scaler, nullptr, nullptr) == TARE_OK);
  const Json json = json_of(after);
  tare_state_destroy(after);
  tare_scaler_destroy(scaler);
  return json;
}

Json resumed(const char* config, const tare_state* state) {
  tare_error error = TARE_ERROR_INIT;
  tare_scaler* scaler = nullptr;
  REQUIRE(tare_scaler_create(&scaler, config, &error) == TARE_OK);
  const int32_t status = tare_scaler_load(scaler, state, nullptr, &error);
  INFO(error.message);
  REQUIRE(status == TARE_OK);
  return run(scaler);
}

const Json& unwrapped(const Json& value) {
  const Json* inner = &value;
  while (inner->is_array() && inner->size() == 1) inner = &inner->front();
  return *inner;
}

/// A state from truth.json alone.
Json state_of(const Json& scaler, Json config) {
  Json state{{"policy", config.at("policy")}, {"fields", Json::object()}, {"roles", Json::object()}};
  config.erase("policy");
  state["params"] = std::move(config);
  for (const auto& [name, value] : scaler.at("fields").items()) {
    const Json& one = unwrapped(value);
    if (one.is_number() || one.is_boolean()) state["fields"][name] = one;
  }
  for (const auto& [name, value] : scaler.at("roles").items()) state["roles"][name] = unwrapped(value);
  return state;
}

Json begun_from_truth(const Json& scaler, const char* config) {
  const std::string text = state_of(scaler, Json::parse(config)).dump();
  tare_error error = TARE_ERROR_INIT;
  tare_state* state = nullptr;
  tare_scaler* begun = nullptr;
  const int32_t parsed = tare_state_from_json(&state, text.data(), text.size(), &error);
  INFO(error.message);
  REQUIRE(parsed == TARE_OK);
  REQUIRE(tare_scaler_create_from_state(&begun, state, nullptr, &error) == TARE_OK);
  tare_state_destroy(state);
  return run(begun);
}

/// The framework's own configuration, and over it what one that was saved in the same checkpoint says: Megatron's
/// arguments, DeepSpeed's and fairseq's configurations, which truth.json does not have.
std::string with_stored_configuration(const char* config, const Json& state) {
  Json told = Json::parse(config);
  for (const auto& [name, value] : state.at("params").items()) {
    if (told.contains(name) || name != "kind") told[name] = value;
  }
  return told.dump();
}

struct Tally {
  std::size_t resumed = 0;
  std::size_t no_policy = 0;  ///< mindformers' common info and tf.contrib's managers
  std::size_t conflicts = 0;  ///< copies that disagree
};

void resume(const std::string& target, const Json& truth, const Json& scaler, Tally& tally) {
  const std::string at = scaler.at("path");
  const bool is_only = truth.at("scalers").size() == 1;
  INFO(target << " " << scaler.dump());
  const char* config = config_for(truth, scaler);
  tare_error error = TARE_ERROR_INIT;
  tare_state* state = nullptr;
  const int32_t status = tare_checkpoint_state(&state, target.c_str(), is_only ? nullptr : at.c_str(), &error);
  INFO(error.message);
  if (status == TARE_E_CONFLICT) {
    ++tally.conflicts;
  } else if (config == nullptr) {
    CHECK(status == TARE_E_UNSUPPORTED);
    ++tally.no_policy;
  } else {
    REQUIRE(status == TARE_OK);
    const std::string told = with_stored_configuration(config, json_of(state));
    CHECK(resumed(told.c_str(), state) == begun_from_truth(scaler, told.c_str()));
    ++tally.resumed;
  }
  tare_state_destroy(state);
}

}  // namespace

TEST_CASE("every loss scaler of the corpus resumes as its framework's rule does") {
  namespace fs = std::filesystem;
  Tally tally;
  for (const auto& entry : fs::recursive_directory_iterator(TARE_TEST_DATA "/corpus")) {
    if (entry.path().filename() != "truth.json") continue;
    std::ifstream file(entry.path());
    const Json truth = Json::parse(file);
    for (const Json& scaler : truth.value("scalers", Json::array())) {
      if (scaler.at("kind") != "loss_scale") continue;
      resume((entry.path().parent_path() / truth.at("target").get<std::string>()).string(), truth, scaler, tally);
    }
  }
  std::cout << tally.resumed << " loss scalers resumed; " << tally.no_policy << " that no policy runs, "
            << tally.conflicts << " whose copies disagree\n";
  // A case that drops out, or is left out of the data, shows here.
  CHECK(tally.resumed == 275);
  CHECK(tally.no_policy == 3);
  CHECK(tally.conflicts == 2);
}
