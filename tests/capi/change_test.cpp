// The calls that change checkpoints beside edit and undo: FP8 verbs, history, diff, migrate, write, and waiting for
// others. That they answer as the command does is tests/python's.
#include <tare/tare.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "tests/capi/scratch.hpp"
#include "tests/capi/state_folder.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// A copy of one case of the test data.
class Copy {
 public:
  explicit Copy(const std::string& name) : folder_(scratch_.folder()) {
    fs::copy(fs::path(TARE_TEST_DATA "/corpus") / name, folder_, fs::copy_options::recursive);
    std::ifstream truth(folder_ / "truth.json");
    target_ = (folder_ / Json::parse(truth).at("target").get<std::string>()).string();
  }
  [[nodiscard]] const char* path() const { return target_.c_str(); }
  [[nodiscard]] std::string beside(const char* name) const { return (folder_ / name).string(); }

 private:
  tare::test::Scratch scratch_;
  fs::path folder_;
  std::string target_;
};

struct Answer {
  int32_t status;
  std::string message;
  Json json;
};

template <class Function, class... Arguments>
Answer ask(Function function, Arguments... arguments) {
  tare_error error = TARE_ERROR_INIT;
  tare_text* text = nullptr;
  Answer answer{function(&text, arguments..., &error), error.message, {}};
  if (answer.status == TARE_OK) answer.json = Json::parse(tare_text_data(text));
  tare_text_destroy(text);
  return answer;
}

std::string options(const char* json) {
  return with_state_folder(json);
}

double scale_of(const std::string& path) {
  tare_state* state = nullptr;
  double scale = 0;
  REQUIRE(tare_checkpoint_state(&state, path.c_str(), nullptr, nullptr) == TARE_OK);
  REQUIRE(tare_state_number(&scale, state, "scale", nullptr) == TARE_OK);
  tare_state_destroy(state);
  return scale;
}

}  // namespace

TEST_CASE("history shows an edit, diff what it changed, prune forgets it") {
  const Copy old("torch/train-t2.15");
  const Copy copy("torch/train-t2.15");
  CHECK(ask(tare_checkpoint_diff, old.path(), copy.path(), nullptr).json.at("same") == true);
  REQUIRE(ask(tare_checkpoint_edit, copy.path(), options(R"({"set":{"scale":512}})").c_str()).status == TARE_OK);
  const Answer difference = ask(tare_checkpoint_diff, old.path(), copy.path(), options(nullptr).c_str());
  CHECK(difference.json.at("schema") == "tare.diff/1");
  CHECK(difference.json.at("same") == false);
  const std::string known = options(nullptr);
  const Answer history = ask(tare_checkpoint_history, copy.path(), known.c_str());
  CHECK(history.json.at("schema") == "tare.history/1");
  REQUIRE(history.json.at("edits").size() == 1);
  CHECK(ask(tare_checkpoint_history, copy.path(), options(R"({"prune":true})").c_str()).json.at("edits").empty());
  CHECK(ask(tare_checkpoint_undo, copy.path(), known.c_str()).status == TARE_E_REFUSED);
  CHECK(ask(tare_checkpoint_history, copy.path(), R"({"prun":true})").status == TARE_E_INVALID_ARGUMENT);
}

TEST_CASE("a state goes into a new file, and into another framework's checkpoint") {
  const Copy torch("torch/train-t2.15");
  const Copy megatron("megatron/torch_tp2_pp2");
  const std::string file = torch.beside("grad_scaler.pt");
  const std::string to_file = options((R"({"to":"megatron","output":")" + file + "\"}").c_str());
  const Answer made = ask(tare_checkpoint_migrate, torch.path(), to_file.c_str());
  REQUIRE(made.message.empty());
  CHECK(made.json.at("schema") == "tare.migrate/1");
  CHECK(made.json.at("written") == true);
  CHECK(scale_of(file) == scale_of(torch.path()));
  CHECK(ask(tare_checkpoint_migrate, torch.path(), to_file.c_str()).status == TARE_E_REFUSED);
  const std::string into = std::string(R"({"into":")") + megatron.path() + R"(","dry_run":)";
  const double before = scale_of(megatron.path());
  REQUIRE(ask(tare_checkpoint_migrate, torch.path(), options((into + "true}").c_str()).c_str()).status == TARE_OK);
  CHECK(scale_of(megatron.path()) == before);
  REQUIRE(ask(tare_checkpoint_migrate, torch.path(), options((into + "false}").c_str()).c_str()).message.empty());
  CHECK(scale_of(megatron.path()) == scale_of(torch.path()));
  REQUIRE(ask(tare_checkpoint_undo, megatron.path(), options(nullptr).c_str()).message.empty());
  CHECK(scale_of(megatron.path()) == before);
  CHECK(ask(tare_checkpoint_migrate, torch.path(), "{}").status == TARE_E_INVALID_ARGUMENT);
  CHECK(ask(tare_checkpoint_migrate, torch.path(), R"({"to":"megatron"})").status == TARE_E_INVALID_ARGUMENT);
}

TEST_CASE("a trainer that is no Python writes the scaler.pt of torch") {
  tare::test::Scratch scratch;
  tare_scaler* scaler = nullptr;
  tare_state* state = nullptr;
  REQUIRE(tare_scaler_create(&scaler, R"({"policy":"torch","initial_scale":4096})", nullptr) == TARE_OK);
  REQUIRE(tare_scaler_save(&state, scaler, nullptr, nullptr) == TARE_OK);
  const std::string path = scratch.path("scaler.pt");
  const Answer written = ask(tare_checkpoint_write, state, path.c_str(), nullptr);
  REQUIRE(written.message.empty());
  CHECK(written.json.at("policy") == "torch");
  CHECK(scale_of(path) == 4096);
  CHECK(ask(tare_checkpoint_write, state, path.c_str(), nullptr).status == TARE_E_REFUSED);
  CHECK(ask(tare_checkpoint_write, state, path.c_str(), R"({"force":true,"framework":"megatron"})").status == TARE_OK);
  CHECK(
      ask(tare_checkpoint_write, state, path.c_str(), R"({"force":true,"framework":"fairseq","strict":true})").status ==
      TARE_E_REFUSED);
  tare_state_destroy(state);
  tare_scaler_destroy(scaler);
}

TEST_CASE("FP8 state is reset and taken back; a verb says what it cannot do without") {
  const Copy copy("transformer_engine/te2.20_delayed");
  const Answer reset = ask(tare_checkpoint_fp8, copy.path(), nullptr, options(R"({"verb":"reset"})").c_str());
  REQUIRE(reset.message.empty());
  CHECK(reset.json.at("applied") == true);
  REQUIRE(ask(tare_checkpoint_undo, copy.path(), options(nullptr).c_str()).message.empty());
  for (const char* bad : {R"({"verb":"mend"})", R"({})", R"({"verb":"resize"})", R"({"verb":"rename","from":"a"})",
                          R"({"verb":"reencode"})", R"({"verb":"regroup","for":"2.3"})", R"({"verb":"inject"})"}) {
    INFO(bad);
    CHECK(ask(tare_checkpoint_fp8, copy.path(), nullptr, bad).status == TARE_E_INVALID_ARGUMENT);
  }
}

TEST_CASE("what is neither there nor on record cannot be undone: an I/O error") {
  const Answer nothing = ask(tare_checkpoint_undo, "/nowhere/scaler.pt", options(nullptr).c_str());
  CHECK(nothing.status == TARE_E_IO);
  CHECK(nothing.message.find("/nowhere") != std::string::npos);
}

TEST_CASE("how long to wait for others is a number of seconds") {
  const Copy copy("torch/train-t2.15");
  for (const char* bad : {R"({"set":{"scale":1},"wait_seconds":-1})", R"({"set":{"scale":1},"wait_seconds":"long"})"}) {
    CHECK(ask(tare_checkpoint_edit, copy.path(), bad).status == TARE_E_INVALID_ARGUMENT);
  }
  const std::string edit = options(R"({"set":{"scale":256},"wait_seconds":5})");
  CHECK(ask(tare_checkpoint_edit, copy.path(), edit.c_str()).message.empty());
}
