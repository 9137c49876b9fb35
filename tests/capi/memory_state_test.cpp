// States, and the files that they are kept in, where memory runs out.
#include <tare/tare.h>

#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include "tests/capi/failing_memory.hpp"
#include "tests/capi/scratch.hpp"
#include "tests/catch.hpp"

using namespace tare::test;

namespace {

std::string_view view(const tare_text* text) {
  return {tare_text_data(text), tare_text_size(text)};
}

/// Of a fresh scaler.
tare_state* state_of(const char* config) {
  tare_scaler* scaler = nullptr;
  tare_state* state = nullptr;
  REQUIRE(tare_scaler_create(&scaler, config, nullptr) == TARE_OK);
  REQUIRE(tare_scaler_save(&state, scaler, nullptr, nullptr) == TARE_OK);
  tare_scaler_destroy(scaler);
  return state;
}

}  // namespace

TEST_CASE("a failed allocation in a question to a state is status 3 and loses nothing") {
  tare_state* state = state_of(R"({"policy":"mindformers_adaptive"})");
  tare_error error = TARE_ERROR_INIT;
  const auto text_of = [](auto ask) {
    return [=] {
      tare_text* text = nullptr;
      const int32_t status = ask(&text);
      tare_text_destroy(text);
      return status;
    };
  };
  int32_t kind = 0;
  int64_t integer = 0;
  double number = 0;
  double numbers[16] = {};
  fail_everywhere("kind", [&] { return tare_state_kind(&kind, state, "scale", &error); });
  fail_everywhere("number", [&] { return tare_state_number(&number, state, "scale", &error); });
  fail_everywhere("integer", [&] { return tare_state_integer(&integer, state, "scale_window", &error); });
  fail_everywhere("array", [&] {
    uint64_t count = 16;
    return tare_state_array(numbers, &count, state, "window_list", &error);
  });
  fail_everywhere("text", text_of([&](tare_text** out) { return tare_state_text(out, state, "window_list", &error); }));
  fail_everywhere("key", text_of([&](tare_text** out) { return tare_state_key(out, state, 2, &error); }));
  fail_everywhere("findings", text_of([&](tare_text** out) { return tare_state_findings(out, state, &error); }));
  fail_everywhere("count", [&] {
    uint64_t count = 0;
    return tare_state_count(&count, state, &error);
  });
  fail_everywhere_or_give(TARE_E_NOT_FOUND, "a key that is not there",
                          [&] { return tare_state_number(&number, state, "nope", &error); });
  tare_state_destroy(state);
}

TEST_CASE("a failed allocation while a value is set is status 3, and the value stays as it was") {
  const std::string json =
      R"({"policy":"mindformers_adaptive","params":{"window_list":[20,30]},"fields":{"scale":8,"scale_window":20}})";
  tare_error error = TARE_ERROR_INIT;
  // `look` gives its status, and what it sees.
  const auto setting = [&](auto set, double wanted, auto look) {
    return [=, &json] {
      tare_state* state = nullptr;
      int32_t status = tare_state_from_json(&state, json.data(), json.size(), nullptr);
      if (status == TARE_OK) {
        status = set(state);
        double seen = 0;
        const int32_t looked = look(&seen, state);
        if (looked != TARE_OK) {
          status = looked;
        } else if ((seen == wanted) != (status == TARE_OK)) {
          status = TARE_E_INTERNAL;
        }
      }
      tare_state_destroy(state);
      return status;
    };
  };
  const auto scale = [](double* out, const tare_state* state) {
    return tare_state_number(out, state, "scale", nullptr);
  };
  const auto window = [](double* out, const tare_state* state) {
    return tare_state_number(out, state, "scale_window", nullptr);
  };
  const auto listed = [](double* out, const tare_state* state) {
    uint64_t count = 0;
    const int32_t status = tare_state_array(nullptr, &count, state, "window_list", nullptr);
    *out = static_cast<double>(count);
    return status;
  };
  const double windows[3] = {20, 50, 100};
  fail_everywhere("set number",
                  setting([&](tare_state* s) { return tare_state_set_number(s, "scale", 4, &error); }, 4, scale));
  fail_everywhere("set text",
                  setting([&](tare_state* s) { return tare_state_set_text(s, "scale", "0x1p2", &error); }, 4, scale));
  fail_everywhere(
      "set integer",
      setting([&](tare_state* s) { return tare_state_set_integer(s, "scale_window", 30, &error); }, 30, window));
  fail_everywhere(
      "set array",
      setting([&](tare_state* s) { return tare_state_set_array(s, "window_list", windows, 3, &error); }, 3, listed));
}

TEST_CASE("a failed allocation in a conversion is status 3, or changes nothing in what is made") {
  for (const char* source : {R"({"policy":"mindformers_adaptive"})", R"({"policy":"torch"})"}) {
    tare_state* state = state_of(source);
    tare_state* wanted = nullptr;
    tare_text* wanted_state = nullptr;
    tare_text* wanted_account = nullptr;
    REQUIRE(tare_state_convert(&wanted, state, "megatron", &wanted_account, nullptr) == TARE_OK);
    REQUIRE(tare_state_to_json(&wanted_state, wanted, nullptr) == TARE_OK);
    // It may sort without the memory that it would sort faster with.
    fail_everywhere_or_give(
        TARE_OK, std::string("convert ") + source,
        [&] {
          tare_state* made = nullptr;
          tare_text* json = nullptr;
          tare_text* account = nullptr;
          int32_t status = tare_state_convert(&made, state, "megatron", &account, nullptr);
          if (status == TARE_OK) status = tare_state_to_json(&json, made, nullptr);
          const bool is_same = view(json) == view(wanted_state) && view(account) == view(wanted_account);
          if (status == TARE_OK && !is_same) status = TARE_E_INTERNAL;
          tare_text_destroy(account);
          tare_text_destroy(json);
          tare_state_destroy(made);
          return status;
        },
        300);  // a search through the steps of two rules, each allocation alike
    tare_text_destroy(wanted_account);
    tare_text_destroy(wanted_state);
    tare_state_destroy(wanted);
    tare_state_destroy(state);
  }
}

TEST_CASE("a failed allocation while a state file is written or read is status 3, and the file is whole or not there") {
  struct Kind {
    const char* name;
    const char* policy;
    const char* options;
  };
  const Kind kind = GENERATE(Kind{"state.json", "mindformers_adaptive", nullptr},  //
                             Kind{"lerobot.json", "torch", R"({"shape":"lerobot"})"},
                             Kind{"state.h5", "mindformers_adaptive", nullptr},
                             Kind{"plain.h5", "mindformers_adaptive", R"({"compression":"none"})"},
                             Kind{"gzip.h5", "mindformers_adaptive", R"({"compression":"gzip"})"});
  const Scratch folder;
  const std::string path = folder.path(kind.name);
  tare_state* state = state_of((std::string(R"({"policy":")") + kind.policy + R"("})").c_str());
  const Whose fail = path.ends_with(".h5") ? Whose::ours : Whose::everyones;
  fail_everywhere(
      std::string("write ") + kind.name, [&] { return tare_state_write(state, path.c_str(), kind.options, nullptr); },
      fail);
  CHECK(folder.names() == std::set<std::string>{kind.name});
  fail_everywhere(std::string("read ") + kind.name, [&] {
    tare_state* again = nullptr;
    const int32_t status = tare_state_read(&again, path.c_str(), nullptr);
    tare_state_destroy(again);
    return status;
  });
  tare_state_destroy(state);
}
