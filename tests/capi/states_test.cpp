// Several states in one file, through the C ABI.
#include <tare/tare.h>

#include <fstream>
#include <iterator>
#include <string>
#include <tare/tare.hpp>

#include "tests/capi/scratch.hpp"
#include "tests/catch.hpp"

namespace {

using Catch::Contains;
using tare::test::Scratch;

tare::cxx::State saved(const std::string& config) {
  return tare::cxx::Scaler(config).save();
}

std::string refusal(const auto& body) {
  try {
    body();
  } catch (const tare::cxx::Failure& error) {
    return error.what();
  }
  return "taken";
}

}  // namespace

TEST_CASE("Scalers and FP8 sets go into one file by name, and come back as they were") {
  const Scratch scratch;
  const std::string path = scratch.path(GENERATE("states.json", "states.h5", "states.hdf5"));
  const tare::cxx::State torch = saved(R"({"policy":"torch","initial_scale":1024})");
  const tare::cxx::State constant = saved(R"({"policy":"megatron","loss_scale":4096})");
  tare_fp8* slots = nullptr;
  tare_state* fp8 = nullptr;
  REQUIRE(tare_fp8_create(&slots, R"({"policy":"transformer_engine","slots":["a/input","a/weight"]})", nullptr) ==
          TARE_OK);
  REQUIRE(tare_fp8_save(&fp8, slots, nullptr, nullptr) == TARE_OK);
  tare_fp8_destroy(slots);
  const tare::cxx::State set(fp8);
  tare::cxx::States states;
  states.add("optimizer[0]", torch);
  states.add("optimizer[1]", constant);
  states.add("layers", set);
  states.write(path);
  const tare::cxx::States back = tare::cxx::States::read(path);
  REQUIRE(back.count() == 3);
  CHECK(back.name(0) == "optimizer[0]");
  CHECK(back.name(2) == "layers");
  CHECK(back.at("optimizer[0]").json() == torch.json());
  CHECK(back.at("optimizer[1]").json() == constant.json());
  CHECK(back.at("layers").json() == set.json());
  CHECK(tare::cxx::Scaler(back.at("optimizer[1]")).scale() == 4096);
  CHECK_THAT(refusal([&] { states.add("layers", torch); }), Contains("already"));
  CHECK_THAT(refusal([&] { back.at("optimizer[2]"); }), Contains("optimizer[2]"));
  CHECK_THAT(refusal([&] { back.only(); }), Contains("3 states"));
  CHECK_THAT(refusal([&] { back.name(3); }), Contains("there are 3"));
  CHECK_THAT(refusal([&] { states.write(scratch.path("states.pt")); }), Contains("tells no format"));
  CHECK_THAT(refusal([&] { tare::cxx::State::read(path); }), Contains("several states"));
}

TEST_CASE("A file of one state is a list of one without a name; an empty list is one, too") {
  const Scratch scratch;
  for (const char* name : {"one.json", "one.h5"}) {
    const tare::cxx::State torch = saved(R"({"policy":"torch"})");
    torch.write(scratch.path(name));
    const tare::cxx::States states = tare::cxx::States::read(scratch.path(name));
    REQUIRE(states.count() == 1);
    CHECK(states.name(0).empty());
    CHECK(states.only().json() == torch.json());
  }
  for (const char* name : {"none.json", "none.h5"}) {
    tare::cxx::States().write(scratch.path(name));
    CHECK(tare::cxx::States::read(scratch.path(name)).count() == 0);
  }
}

TEST_CASE("Ten thousand scalers are kept together") {
  const Scratch scratch;
  const tare::cxx::State torch = saved(R"({"policy":"torch"})");
  tare::cxx::States states;
  constexpr int many = 10000;
  for (int i = 0; i < many; ++i) states.add("parameter." + std::to_string(i), torch);
  for (const char* name : {"many.json", "many.h5"}) {
    states.write(scratch.path(name));
    const tare::cxx::States back = tare::cxx::States::read(scratch.path(name));
    REQUIRE(back.count() == many);
    CHECK(back.name(many - 1) == "parameter." + std::to_string(many - 1));
  }
}

TEST_CASE("Text that JSON cannot say is refused when it is set, and what is written is read again") {
  const Scratch scratch;
  tare_state* state = nullptr;
  const std::string json = R"({"policy":"torch","fields":{"scale":2.0},"note":"a"})";
  REQUIRE(tare_state_from_json(&state, json.data(), json.size(), nullptr) == TARE_OK);
  tare_states* states = nullptr;
  REQUIRE(tare_states_create(&states, nullptr) == TARE_OK);
  tare_error error = TARE_ERROR_INIT;
  for (const char* wrong : {"\xff", "a\x80", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80"}) {
    CHECK(tare_state_set_text(state, "other.note", wrong, &error) == TARE_E_INVALID_ARGUMENT);
    CHECK_THAT(std::string(error.message), Contains("value is no UTF-8") && Contains("\\x"));
    CHECK(tare_states_add(states, wrong, state, &error) == TARE_E_INVALID_ARGUMENT);
    CHECK_THAT(std::string(error.message), Contains("name is no UTF-8") && Contains("\\x"));
  }
  CHECK(tare_state_set_text(state, "other.note", "\xc3\xbc \xf0\x9f\x90\xa6\n", &error) == TARE_OK);
  CHECK(tare_states_add(states, "\xc3\xbc", state, &error) == TARE_OK);
  const std::string path = scratch.path("states.json");
  REQUIRE(tare_states_write(states, path.c_str(), &error) == TARE_OK);
  const tare::cxx::States back = tare::cxx::States::read(path);
  CHECK(back.count() == 1);
  CHECK(back.name(0) == "\xc3\xbc");
  CHECK(back.at("\xc3\xbc").json() == tare::cxx::State(state).json());  // takes the handle
  tare_states_destroy(states);
}

TEST_CASE("Bad arguments and files get a status, and nothing is made") {
  const Scratch scratch;
  auto* states = reinterpret_cast<tare_states*>(8);
  CHECK(tare_states_read(&states, nullptr, nullptr) == TARE_E_INVALID_ARGUMENT);
  CHECK(states == nullptr);
  CHECK(tare_states_create(nullptr, nullptr) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_states_count(nullptr, nullptr, nullptr) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_states_add(nullptr, "a", nullptr, nullptr) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_states_write(nullptr, "a.json", nullptr) == TARE_E_INVALID_ARGUMENT);
  tare_states_destroy(nullptr);
  const auto status_of = [&](const char* text) {
    std::ofstream(scratch.path("bad.json")) << text;
    const int32_t status = tare_states_read(&states, scratch.path("bad.json").c_str(), nullptr);
    CHECK((states == nullptr) == (status != TARE_OK));
    tare_states_destroy(states);
    return status;
  };
  CHECK(status_of(R"({"schema":"tare.states/1"})") == TARE_E_CORRUPT);
  CHECK(status_of(R"({"schema":"tare.states/1","states":[{"path":"a"}]})") == TARE_E_CORRUPT);
  CHECK(status_of(R"({"schema":"tare.states/1","states":[{"state":{}}]})") == TARE_E_CORRUPT);
  CHECK(status_of(R"({"schema":"tare.states/2","states":[]})") != TARE_OK);
  const std::string twice = R"({"path":"a","state":{"policy":"torch","fields":{"scale":8}}})";
  CHECK(status_of((R"({"schema":"tare.states/1","states":[)" + twice + "," + twice + "]}").c_str()) == TARE_E_REFUSED);
}
