// The checkpoint calls on copies of real checkpoints: what they give, what they refuse and with which status, and that
// undo brings back every byte.
#include <tare/tare.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/capi/scratch.hpp"
#include "tests/capi/state_folder.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Catch::Contains;

using Contents = std::map<std::string, std::string>;

/// A copy of one case of the test data, gone at the end.
class Copy {
 public:
  explicit Copy(const std::string& name) : folder_(scratch_.folder()) {
    fs::copy(fs::path(TARE_TEST_DATA "/corpus") / name, folder_, fs::copy_options::recursive);
    std::ifstream truth(folder_ / "truth.json");
    target_ = (folder_ / Json::parse(truth).at("target").get<std::string>()).string();
  }

  const char* path() const { return target_.c_str(); }

  /// Every file but those of tare's own.
  Contents contents() const {
    Contents all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      const std::string name = entry.path().lexically_relative(folder_).string();
      if (!entry.is_regular_file() || name.find(".tare") != std::string::npos) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      all[name] = std::string(std::istreambuf_iterator<char>(file), {});
    }
    return all;
  }
  /// Where a user of that name keeps his key.
  std::string home(const char* name) const { return homes_.path(name); }
  /// The last edit, as if a power failure had come before its end.
  void interrupt() const {
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      if (entry.path().filename() != "000001.edit") continue;
      return fs::rename(entry.path(), entry.path().parent_path() / "pending");
    }
    FAIL("no edit was made");
  }
  bool has_journal() const {
    return fs::exists(folder_ / ".tare") || fs::exists(fs::path(target_) / ".tare") ||
           fs::exists(fs::path(target_).parent_path() / ".tare");
  }

 private:
  tare::test::Scratch scratch_;
  tare::test::Scratch homes_;
  fs::path folder_;
  std::string target_;
};

/// What one call gave.
struct Answer {
  int32_t status;
  std::string message;
  Json json;
};

template <class Function>
Answer ask(Function function, const char* path, const char* options) {
  tare_error error = TARE_ERROR_INIT;
  tare_text* text = nullptr;
  Answer answer{function(&text, path, options, &error), error.message, {}};
  CHECK(error.status == answer.status);
  if (answer.status == TARE_OK) {
    answer.json = Json::parse(tare_text_data(text));
    CHECK(std::string(tare_text_data(text)).size() == tare_text_size(text));
  } else {
    CHECK(text == nullptr);
  }
  tare_text_destroy(text);
  return answer;
}

Answer inspect(const Copy& copy, const char* options = nullptr) {
  return ask(tare_checkpoint_inspect, copy.path(), options);
}
Answer edit(const Copy& copy, const char* wanted) {
  return ask(tare_checkpoint_edit, copy.path(), with_state_folder(wanted).c_str());
}
Answer undo(const Copy& copy, const char* options = nullptr) {
  return ask(tare_checkpoint_undo, copy.path(), with_state_folder(options).c_str());
}

/// The scale of a checkpoint's state; the status where there is none.
Answer state_scale(const char* path, const char* at = nullptr) {
  tare_error error = TARE_ERROR_INIT;
  tare_state* state = nullptr;
  Answer answer{tare_checkpoint_state(&state, path, at, &error), error.message, {}};
  double scale = 0;
  if (answer.status == TARE_OK) {
    CHECK(tare_state_number(&scale, state, "scale", &error) == TARE_OK);
    answer.json = scale;
  } else {
    CHECK(state == nullptr);
  }
  tare_state_destroy(state);
  return answer;
}

}  // namespace

namespace {

/// The slots that run of a checkpoint's FP8 state; none where it is refused.
std::uint64_t slots_of(const Copy& copy, const char* at, std::string* refusal = nullptr) {
  tare_error error = TARE_ERROR_INIT;
  tare_state* state = nullptr;
  tare_fp8* slots = nullptr;
  std::uint64_t count = 0;
  if (tare_checkpoint_state(&state, copy.path(), at, &error) == TARE_OK) {
    REQUIRE(tare_fp8_create_from_state(&slots, state, nullptr, nullptr) == TARE_OK);
    REQUIRE(tare_fp8_count(&count, slots, nullptr) == TARE_OK);
    tare_fp8_destroy(slots);
  } else if (refusal != nullptr) {
    *refusal = error.message;
  }
  tare_state_destroy(state);
  return count;
}

}  // namespace

TEST_CASE("the FP8 state of a checkpoint runs, all layers of it or those that a pattern chooses") {
  const Copy copy("transformer_engine/te1.13_4layers");
  CHECK(slots_of(copy, nullptr) == 20);
  CHECK(slots_of(copy, "layers.3") == 5);
  CHECK(slots_of(copy, "layers.[3]") == 0);
  CHECK(slots_of(copy, "layers.?") == 20);
  std::string refusal;
  CHECK(slots_of(copy, "layers.9", &refusal) == 0);
  CHECK_THAT(refusal, Catch::Contains("layers.9"));
  CHECK(edit(copy, R"({"layer":"layers.3","set":{"scale.input":16}})").status == TARE_OK);
  tare_state* state = nullptr;
  REQUIRE(tare_checkpoint_state(&state, copy.path(), "layers.3", nullptr) == TARE_OK);
  tare_text* text = nullptr;
  REQUIRE(tare_state_to_json(&text, state, nullptr) == TARE_OK);
  CHECK(nlohmann::json::parse(tare_text_data(text)).at("fields").at("scale")[0] == 16);
  tare_text_destroy(text);
  tare_state_destroy(state);
}

TEST_CASE("beside FP8 layers the loss scaler is the checkpoint's state, and layers are where they are asked for") {
  const Copy copy("transformer_engine/te2.20_megatron_torch");
  CHECK(state_scale(copy.path()).json == 65536);
  CHECK(state_scale(copy.path(), "optimizer.grad_scaler").json == 65536);
  CHECK(slots_of(copy, "model.decoder.layers.0.self_attention.linear_proj") == 5);
  CHECK(slots_of(copy, "model.decoder.layers.*") == 40);
}

TEST_CASE("inspect gives the command's JSON, and what a pickle names only when asked") {
  const Copy copy("torch/train-t2.15");
  const Answer plain = inspect(copy);
  REQUIRE(plain.status == TARE_OK);
  CHECK(plain.json.at("schema") == "tare.inspect/1");
  REQUIRE(plain.json.at("scalers").size() == 1);
  CHECK(plain.json.at("scalers")[0].at("path") == "scaler");
  CHECK(plain.json.at("scalers")[0].at("roles").at("scale") == state_scale(copy.path()).json);
  CHECK_FALSE(plain.json.contains("globals"));
  CHECK(inspect(copy, "").json == plain.json);
  CHECK(inspect(copy, R"({"globals":false})").json == plain.json);
  const Answer all = inspect(copy, R"({"globals":true})");
  REQUIRE(all.json.contains("globals"));
  CHECK(all.json.at("globals").size() > 0);
}

TEST_CASE("options that no call has are refused by their name") {
  const Copy copy("torch/train-t2.15");
  for (const char* options : {R"({"global":true})", R"({"globals":1})", R"(["globals"])", "{"}) {
    INFO(options);
    CHECK(inspect(copy, options).status == TARE_E_INVALID_ARGUMENT);
  }
  CHECK_THAT(inspect(copy, R"({"global":true})").message, Contains("\"global\"") && Contains("globals"));
  CHECK(undo(copy, R"({"hard_link":true})").status == TARE_E_INVALID_ARGUMENT);
  for (const char* wanted :
       {R"({})", R"({"set":{}})", R"({"set":[1]})", R"({"set":{"scale":[1]}})", R"({"set":{"scale":1},"dry":true})",
        R"({"set":{"scale":1},"dry_run":1})", R"({"set":{"scale":1},"at":7})", R"({"set":{"bogus":1}})"}) {
    INFO(wanted);
    CHECK(edit(copy, wanted).status == TARE_E_INVALID_ARGUMENT);
  }
  CHECK(edit(copy, R"({"schema":"tare.edit/2","set":{"scale":1}})").status == TARE_E_UNSUPPORTED);
  CHECK_FALSE(copy.has_journal());
}

TEST_CASE("a dry run gives the plan of the edit and touches nothing") {
  const Copy copy("deepspeed/zero2_2ranks");
  const Contents before = copy.contents();
  const Answer plan = edit(copy, R"({"set":{"scale":512},"dry_run":true})");
  REQUIRE(plan.status == TARE_OK);
  CHECK(plan.json.at("applied") == false);
  CHECK(plan.json.at("number").is_null());
  CHECK(copy.contents() == before);
  CHECK_FALSE(copy.has_journal());

  const Answer done = edit(copy, R"({"schema":"tare.edit/1","set":{"scale":512},"at":null})");
  REQUIRE(done.status == TARE_OK);
  CHECK(done.json.at("applied") == true);
  CHECK(done.json.at("number") == 1);
  CHECK(done.json.at("fields") == plan.json.at("fields"));
  CHECK(done.json.at("changes") == plan.json.at("changes"));
  CHECK(done.json.at("changes").size() == 2);  // one file a rank
  CHECK(state_scale(copy.path()).json == 512);
}

TEST_CASE("undo brings back every byte, one edit after the other") {
  for (const char* name : {"torch/train-t2.15", "torch/legacy-t1.13", "deepspeed/zero2_4ranks_tags", "apex/amp-one"}) {
    INFO(name);
    const Copy copy(name);
    const Contents before = copy.contents();
    REQUIRE(edit(copy, R"({"set":{"scale":24}})").status == TARE_OK);
    const Contents between = copy.contents();
    CHECK(between != before);
    CHECK(between.size() == before.size());
    REQUIRE(edit(copy, R"({"set":{"scale":"0x1p5"}})").status == TARE_OK);
    CHECK(state_scale(copy.path()).json == 32);
    const Answer second = undo(copy, R"({"hard_links":false})");
    REQUIRE(second.status == TARE_OK);
    CHECK(second.json.at("schema") == "tare.undo/1");
    CHECK(second.json.at("did") == "undone");
    CHECK(second.json.at("number") == 2);
    CHECK(copy.contents() == between);
    REQUIRE(undo(copy).status == TARE_OK);
    CHECK(copy.contents() == before);
    const Answer nothing = undo(copy);
    CHECK(nothing.status == TARE_E_REFUSED);
    CHECK(copy.contents() == before);
  }
}

namespace {

/// Options with the key of that home, which lies beside the copy.
std::string of_home(const Copy& copy, const char* name, const char* others = "") {
  return std::string(R"({"state_folder":")") + copy.home(name) + "\"" + others + "}";
}

}  // namespace

TEST_CASE("what another home's journal changed is told with the answer, and its edit rules over no reader") {
  const Copy copy("torch/train-t2.15");
  const Contents before = copy.contents();
  const std::string edit_of_another = of_home(copy, "other", R"(,"set":{"scale":24})");
  const Answer made = ask(tare_checkpoint_edit, copy.path(), edit_of_another.c_str());
  REQUIRE(made.status == TARE_OK);
  for (const char* key : {"when", "user", "host", "command"}) CHECK(made.json.at(key) != "");
  copy.interrupt();
  const std::string mine = of_home(copy, "mine");
  const auto state_as = [&](const std::string& options) {
    tare_state* state = nullptr;
    const int32_t status = tare_checkpoint_state_as(&state, copy.path(), options.c_str(), nullptr);
    tare_state_destroy(state);
    return status;
  };
  CHECK(state_as(mine) == TARE_OK);
  CHECK(state_as(of_home(copy, "other")) == TARE_E_BUSY);
  CHECK(state_as(R"({"at":"absent"})") == TARE_E_REFUSED);
  CHECK(state_as(R"({"key":1})") == TARE_E_INVALID_ARGUMENT);
  CHECK(ask(tare_checkpoint_undo, copy.path(), mine.c_str()).status == TARE_E_REFUSED);
  const Answer undone =
      ask(tare_checkpoint_undo, copy.path(), of_home(copy, "mine", R"(,"trust_journal":true)").c_str());
  REQUIRE(undone.status == TARE_OK);
  CHECK(copy.contents() == before);
  const Json& finding = undone.json.at("findings").at(0);
  CHECK(finding.at("code") == "trusted-journal");
  CHECK_THAT(finding.at("message").get<std::string>(), Contains("bytes at offset"));
}

TEST_CASE("an edit that had to trust another home's journal tells what that changed") {
  const Copy copy("torch/train-t2.15");
  const std::string edit_of_another = of_home(copy, "other", R"(,"set":{"scale":24})");
  REQUIRE(ask(tare_checkpoint_edit, copy.path(), edit_of_another.c_str()).status == TARE_OK);
  const Json found = ask(tare_checkpoint_inspect, copy.path(), of_home(copy, "mine").c_str()).json.at("findings");
  CHECK(std::any_of(found.begin(), found.end(), [](const Json& it) { return it.at("code") == "foreign-record"; }));
  const Json own = ask(tare_checkpoint_inspect, copy.path(), of_home(copy, "other").c_str()).json.at("findings");
  CHECK(std::none_of(own.begin(), own.end(), [](const Json& it) { return it.at("code") == "foreign-record"; }));
  copy.interrupt();
  const std::string trusting = of_home(copy, "mine", R"(,"trust_journal":true,"set":{"scale":48})");
  const Answer done = ask(tare_checkpoint_edit, copy.path(), trusting.c_str());
  REQUIRE(done.status == TARE_OK);
  CHECK(done.json.at("findings").at(0).at("code") == "trusted-journal");
  CHECK(state_scale(copy.path()).json == 48);
}

TEST_CASE("an edit without history leaves nothing to undo") {
  const Copy copy("torch/train-t2.15");
  REQUIRE(edit(copy, R"({"set":{"scale":24},"history":false})").status == TARE_OK);
  CHECK(state_scale(copy.path()).json == 24);
  CHECK(undo(copy).status == TARE_E_REFUSED);
  CHECK(state_scale(copy.path()).json == 24);
}

TEST_CASE("with several scalers the caller says which, or all") {
  const Copy copy("torch/gan");
  const Contents before = copy.contents();
  const Answer ambiguous = state_scale(copy.path());
  CHECK(ambiguous.status == TARE_E_REFUSED);
  CHECK_THAT(ambiguous.message, Contains("scaler_G") && Contains("scaler_D"));
  CHECK(edit(copy, R"({"set":{"scale":24}})").status == TARE_E_REFUSED);
  CHECK(state_scale(copy.path(), "scaler_X").status == TARE_E_REFUSED);
  CHECK(edit(copy, R"({"set":{"scale":24},"at":"scaler_X"})").status == TARE_E_REFUSED);
  CHECK(copy.contents() == before);
  const Json other = state_scale(copy.path(), "scaler_G").json;
  REQUIRE(edit(copy, R"({"set":{"scale":24},"at":"scaler_D"})").status == TARE_OK);
  CHECK(state_scale(copy.path(), "scaler_D").json == 24);
  CHECK(state_scale(copy.path(), "scaler_G").json == other);
  REQUIRE(edit(copy, R"({"set":{"scale":48},"all":true})").status == TARE_OK);
  CHECK(state_scale(copy.path(), "scaler_D").json == 48);
  CHECK(state_scale(copy.path(), "scaler_G").json == 48);
}

TEST_CASE("copies that disagree are a conflict until each file was edited by itself") {
  const Copy copy("torch/rank-files-disagree");
  const Json scalers = inspect(copy).json.at("scalers");
  REQUIRE(scalers.size() == 2);
  const Contents before = copy.contents();
  CHECK(state_scale(copy.path()).status == TARE_E_CONFLICT);
  CHECK(edit(copy, R"({"set":{"scale":24},"all":true,"force":true})").status == TARE_E_CONFLICT);
  CHECK(copy.contents() == before);
  for (const Json& scaler : scalers) {
    for (const Json& file : scaler.at("files")) {
      const fs::path path = fs::path(copy.path()) / file.get<std::string>();
      const std::string wanted = with_state_folder(R"({"set":{"scale":24,"growth_tracker":0}})");
      const Answer done = ask(tare_checkpoint_edit, path.c_str(), wanted.c_str());
      INFO(done.message);
      REQUIRE(done.status == TARE_OK);
    }
  }
  CHECK(state_scale(copy.path()).json == 24);
}

TEST_CASE("what a framework does not store, or a rule cannot hold, is refused") {
  const Copy copy("megatron/torch_tp2_pp2");
  const Contents before = copy.contents();
  const Answer window = edit(copy, R"({"set":{"growth_interval":500}})");
  CHECK(window.status == TARE_E_REFUSED);
  CHECK_THAT(window.message, Contains("--loss-scale-window"));
  CHECK(edit(copy, R"({"set":{"scale":0}})").status == TARE_E_REFUSED);
  CHECK(edit(copy, R"({"set":{"scale":"nan"}})").status == TARE_E_REFUSED);
  CHECK(copy.contents() == before);
  REQUIRE(edit(copy, R"({"set":{"scale":0},"force":true})").status == TARE_OK);
  CHECK(state_scale(copy.path()).json == 0);
}

TEST_CASE("no scaler, no file and no checkpoint are told apart") {
  const Copy without("torch/no-scaler");
  CHECK(inspect(without).status == TARE_OK);
  CHECK(state_scale(without.path()).status == TARE_E_REFUSED);
  CHECK(edit(without, R"({"set":{"scale":24}})").status == TARE_E_REFUSED);
  const Copy empty("hostile/empty-folder");
  CHECK(inspect(empty).status == TARE_E_NOT_FOUND);
  CHECK(state_scale(empty.path()).status == TARE_E_NOT_FOUND);
  CHECK(edit(empty, R"({"set":{"scale":24}})").status == TARE_E_NOT_FOUND);
  tare_error error = TARE_ERROR_INIT;
  tare_text* text = nullptr;
  CHECK(tare_checkpoint_inspect(&text, "/nowhere/at/all.pt", nullptr, &error) == TARE_E_IO);
  CHECK(error.detail == ENOENT);
  const Copy cut("hostile/cut-half");
  CHECK(inspect(cut).status == TARE_E_CORRUPT);
  CHECK(edit(cut, R"({"set":{"scale":24}})").status == TARE_E_CORRUPT);
  CHECK(undo(cut).status == TARE_E_REFUSED);
}

TEST_CASE("a program that asks the library about a run learns of half an edit in every answer") {
  const Copy copy("torch/train-t2.15");
  REQUIRE(ask(tare_checkpoint_edit, copy.path(), of_home(copy, "mine", R"(,"set":{"scale":24})").c_str()).status ==
          TARE_OK);
  copy.interrupt();
  const std::string mine = of_home(copy, "mine");
  const char* paths[] = {copy.path(), copy.path()};
  const auto pending_in = [](const tare_text* text) {
    const Json pending = Json::parse(tare_text_data(text)).at("pending");
    return pending.is_array() ? pending.at(0) : pending;
  };
  for (const auto call : {tare_health_doctor, tare_health_timeline, tare_health_list, tare_trace_read}) {
    tare_text* text = nullptr;
    REQUIRE(call(&text, paths, 1, mine.c_str(), nullptr) == TARE_OK);
    CHECK(pending_in(text).at("rules") == "before");
    tare_text_destroy(text);
  }
  CHECK(ask(tare_checkpoint_attest, copy.path(), mine.c_str()).json.at("pending").at(0).at("sealed") == true);
  tare_text* text = nullptr;
  REQUIRE(tare_checkpoint_diff(&text, paths[0], paths[1], mine.c_str(), nullptr) == TARE_OK);
  CHECK(pending_in(text).at("rules") == "before");
  tare_text_destroy(text);
}

TEST_CASE("whoever watches a run through the library is told once of an edit that was interrupted") {
  const Copy copy("torch/train-t2.15");
  REQUIRE(ask(tare_checkpoint_edit, copy.path(), of_home(copy, "mine", R"(,"set":{"scale":24})").c_str()).status ==
          TARE_OK);
  copy.interrupt();
  const char* paths[] = {copy.path()};
  tare_watch* watch = nullptr;
  REQUIRE(tare_watch_create(&watch, paths, 1, of_home(copy, "mine").c_str(), nullptr) == TARE_OK);
  const auto is_told = [&] {
    tare_text* text = nullptr;
    REQUIRE(tare_watch_look(&text, watch, 0, nullptr) == TARE_OK);
    const bool found = std::string(tare_text_data(text)).find("was interrupted") != std::string::npos;
    tare_text_destroy(text);
    return found;
  };
  CHECK(is_told());
  CHECK_FALSE(is_told());
  tare_watch_destroy(watch);
}

TEST_CASE("a state_folder that is relative is refused before anything is written") {
  const Copy copy("torch/train-t2.15");
  const Contents before = copy.contents();
  const Answer refused = ask(tare_checkpoint_edit, copy.path(), R"({"state_folder":"state","set":{"scale":24}})");
  CHECK(refused.status == TARE_E_INVALID_ARGUMENT);
  CHECK_THAT(refused.message, Contains("absolute path"));
  CHECK(copy.contents() == before);
  CHECK_FALSE(copy.has_journal());
  CHECK_FALSE(fs::exists("state/journal.key"));
  CHECK(ask(tare_checkpoint_inspect, copy.path(), R"({"state_folder":"state"})").status == TARE_E_INVALID_ARGUMENT);
}

TEST_CASE("an error advises the options of the call that failed, and no flag of the command's") {
  const Copy copy("torch/train-t2.15");
  const Answer zero = edit(copy, R"({"set":{"scale":0},"dry_run":true})");
  CHECK(zero.status == TARE_E_REFUSED);
  CHECK_THAT(zero.message, Contains("\n\"force\" writes it all the same"));
  REQUIRE(ask(tare_checkpoint_edit, copy.path(), of_home(copy, "other", R"(,"set":{"scale":24})").c_str()).status ==
          TARE_OK);
  const Answer foreign = ask(tare_checkpoint_undo, copy.path(), of_home(copy, "mine").c_str());
  CHECK(foreign.status == TARE_E_REFUSED);
  CHECK_THAT(foreign.message, Contains("\"trust_journal\"") && !Contains("--trust-journal"));
}
