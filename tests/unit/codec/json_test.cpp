// The state as JSON: exact, ordered, strict.
#include "lib/codec/json.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/base/error.hpp"
#include "lib/codec/json_text.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"

using namespace tare;
using Catch::Contains;

namespace {

Status status_of(const std::string& text) {
  return test::status_of([&] { state_from_json(text, "x.json"); });
}

}  // namespace

TEST_CASE("a role whose value stands among the parameters is not put among the fields when it is read again") {
  const std::string text = state_to_json(state_from_json(
      R"({"policy":"mindformers_adaptive","fields":{"scale_sense":65536.0},"params":{"growth_interval":2000}})",
      "a.json"));
  const ScalerState again = state_from_json(text, "a.json");
  CHECK(again.fields.find("scale_window") == nullptr);
  CHECK(state_to_json(again) == text);
}

TEST_CASE("what stands before a list and behind it is written with it, as it would be with the list in memory") {
  for (const std::size_t count : {0U, 1U, 40'000U}) {
    INFO(count);
    const json::Object front{{"target", "a.pt"}}, behind{{"findings", json::Array{json::Json("one")}}, {"done", true}};
    json::Array items(count, json::Json(json::Object{{"scale", 2.0}}));
    const json::MadeList list{"scalers", [&](const auto& add) { std::for_each(items.begin(), items.end(), add); }};
    const std::string text = json::gathered([&](const auto& sink) { json::write_text(front, list, behind, sink); });
    json::Object whole = front;
    whole.emplace_back("scalers", items);
    whole.insert(whole.end(), behind.begin(), behind.end());
    CHECK((text == json::text_of(whole)));
  }
}

TEST_CASE("a state needs no more than policy and fields") {
  const auto state = state_from_json(R"({"policy":"torch","fields":{"scale":65536,"_growth_tracker":3}})", "x");
  CHECK(state.policy == "torch");
  CHECK(number_of(get(state, "scale"), "scale") == 65536);
  CHECK(integer_of(get(state, "growth_tracker"), "") == 3);
}

TEST_CASE("a field that is edited in a file that tare wrote counts; a role that is edited, or both, is refused") {
  const std::string written =
      state_to_json(state_from_json(R"({"policy":"torch","fields":{"scale":65536.0,"_growth_tracker":3}})", "x"));
  const auto with = [&](const std::string& before, const std::string& after, std::size_t from = 0) {
    std::string text = written;
    const std::size_t at = text.find(before, from);
    REQUIRE(at != text.npos);
    return text.replace(at, before.size(), after);
  };
  const std::size_t roles = written.find("\"roles\"");
  CHECK(number_of(get(state_from_json(with("\"scale\": 65536.0", "\"scale\": 1024"), "x"), "scale"), "") == 1024);
  CHECK(integer_of(get(state_from_json(with("\"_growth_tracker\": 3", "\"other\": 1"), "x"), "growth_tracker"), "") ==
        3);
  CHECK_THROWS_WITH(state_from_json(with("\"scale\": 65536.0", "\"scale\": 1024", roles), "x"),
                    Contains("roles.scale is not what"));
  CHECK_THROWS_WITH(
      state_from_json(with("\"roles_crc32\"", "\"roles_crc\"").replace(written.find("65536.0"), 7, "1024.00"), "x"),
      Contains("roles.scale is not what"));
}

TEST_CASE("what is written reads back the same, unknown names included") {
  const std::string text =
      R"({"schema":"tare.state/1","policy":"torch","params":{"growth_interval":2000,"tomorrow":[1,2]},
    "fields":{"scale":0.1,"_growth_tracker":-1,"names":["a","b"],"odd":{"x":[1,"y"]}},
    "statistics":{"steps":7},"later":{"deep":true}})";
  const auto state = state_from_json(text, "x");
  const std::string written = state_to_json(state);
  const auto again = state_from_json(written, "x");
  CHECK(again == state);
  CHECK(state_to_json(again) == written);
  CHECK_THAT(written, Contains("\"scale\": 0.1,") && Contains("\"names\": [\"a\", \"b\"]") && Contains("\"deep\":"));
}

TEST_CASE("floats are the shortest that read back; nan and infinities are words; hex floats are taken") {
  ScalerState state;
  state.policy = "torch";
  for (const double value : {1.0 / 3.0, 65536.0, 5e-324, 1.7976931348623157e308, 0x1.8p-149, -0.0, 1e22, 1e16}) {
    state.params.set("growth_factor", value);
    const auto again = state_from_json(state_to_json(state), "x");
    const double back = std::get<double>(*again.params.find("growth_factor"));
    CHECK(back == value);
    CHECK(std::signbit(back) == std::signbit(value));
  }
  const auto read = state_from_json(R"({"policy":"torch","fields":{"scale":"inf"},
    "params":{"growth_factor":"nan","backoff_factor":"-0x1.8p-3"}})",
                                    "x");
  CHECK(number_of(get(read, "scale"), "") == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(number_of(get(read, "growth_factor"), "")));
  CHECK(number_of(get(read, "backoff_factor"), "") == -0.1875);
  CHECK_THAT(state_to_json(read), Contains("\"scale\": \"inf\"") && Contains("\"growth_factor\": \"nan\""));
}

TEST_CASE("what is no state is told as what it is") {
  CHECK(status_of("") == Status::corrupt);
  CHECK(status_of("{") == Status::corrupt);
  CHECK(status_of("[]") == Status::corrupt);
  CHECK(status_of("{}") == Status::corrupt);
  CHECK(status_of(R"({"policy":"torch"})") == Status::corrupt);
  CHECK(status_of(R"({"policy":3,"fields":{}})") == Status::corrupt);
  CHECK(status_of(R"({"policy":"torch","fields":[]})") == Status::corrupt);
  CHECK(status_of(R"({"policy":"torch","fields":{}} // so)") == Status::corrupt);
  CHECK(status_of(R"({"policy":"torch",/* so */"fields":{}})") == Status::corrupt);
  CHECK(status_of(R"({"policy":"torch","fields":{"scale":1,"scale":2}})") == Status::corrupt);
  CHECK(status_of(R"({"policy":"torch","fields":{"scale":NaN}})") == Status::corrupt);
  CHECK(status_of(R"({"policy":"torch","fields":{"scale":1e999}})") == Status::corrupt);
  CHECK(status_of(R"({"policy":"torch","fields":{"scale":"many"}})") == Status::mismatch);
  CHECK(status_of(R"({"policy":"torch","fields":{"scale":[1,2]}})") == Status::mismatch);
  CHECK(status_of(R"({"schema":"tare.state/2","policy":"torch","fields":{}})") == Status::unsupported);
  CHECK(status_of(R"({"schema":"tare.state/0","policy":"torch","fields":{}})") == Status::corrupt);  // there was none
  CHECK(status_of(R"({"schema":"tare.inspect/1","policy":"torch","fields":{}})") == Status::corrupt);
  CHECK(status_of(R"({"policy":"torch","fields":{"scale":1},"roles":{"scale":2}})") == Status::mismatch);
  CHECK(status_of(R"({"policy":"torch","fields":{"x":)" + std::string(100000, '[') + std::string(100000, ']') + "}}") ==
        Status::corrupt);
}

TEST_CASE("what a terminal acts on is escaped in JSON, too, and reads back the same") {
  for (const char* text : {"\u009b31mred", "\u202etxt.exe", "del\x7f", "\u200bnothing", "\U000e0041tag"}) {
    const std::string written = value_to_json(StateValue(text));
    CHECK(written.find_first_not_of("\"\\0123456789abcdefghijklmnopqrstuvwxyz. ") == std::string::npos);
    CHECK(*members_of_json("{\"a\":" + written + "}", "text").find("a") == StateValue(text));
  }
  CHECK(value_to_json(StateValue("modell-\u00fc")) == "\"modell-\u00fc\"");
}

TEST_CASE("nested lists of one shape are arrays, others are kept as they are") {
  const auto state = state_from_json(
      R"({"policy":"tomorrow","fields":{"history":[[1.5,2],[3,4]],"ragged":[[1],[2,3]],"none":[]}})", "x");
  const auto& history = std::get<StateArray>(*state.fields.find("history"));
  CHECK(history.shape == std::vector<std::uint64_t>{2, 2});
  CHECK(kind_of(*state.fields.find("ragged")) == ValueKind::json);
  CHECK(state_from_json(state_to_json(state), "x").fields.size() == 3);
}

TEST_CASE("long lists of numbers are arrays as short ones are, and kept ones are written as they were read") {
  const std::string floats = "[0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5]";
  const std::string integers = "[1, 2, 3, 4, 5, 6, 7, 8, 9]";
  const std::string mixed = R"([1, 2, 3, 4, 5, 6, 7, 8, "nan"])";
  const auto read = [](const std::string& list) {
    const std::string text = R"({"policy":"tomorrow","fields":{"list":)" + list + "}}";
    return *state_from_json(text, "x").fields.find("list");
  };
  CHECK(std::get<StateArray>(read(floats)).shape == std::vector<std::uint64_t>{9});
  CHECK(std::holds_alternative<std::vector<std::int64_t>>(std::get<StateArray>(read(integers)).values));
  const auto rows = std::get<StateArray>(read("[" + integers + ", " + floats + ", " + mixed + "]"));
  CHECK(rows.shape == std::vector<std::uint64_t>{3, 9});
  CHECK(std::get<std::vector<double>>(rows.values)[17] == 8.5);
  CHECK(value_to_json(read("[" + integers + ", " + floats + "]")).find("1.0, 2.0") != std::string::npos);
  for (const std::string& kept : {"[" + integers + ", [1]]", "[" + floats + ", \"a\"]", "[" + mixed + ", 1]"}) {
    INFO(kept);
    std::string text = std::get<OpaqueJson>(read(kept)).text;
    std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
    std::string wanted = kept;
    std::erase(wanted, ' ');
    CHECK(text == wanted);
  }
}

TEST_CASE("lerobot's scaler_state.json is read, and written for torch alone") {
  const auto state = state_from_json(
      R"({"scale":32768.0,"growth_factor":2.0,"backoff_factor":0.5,"growth_interval":2000,"_growth_tracker":12})", "x");
  CHECK(state.policy == "torch");
  CHECK(integer_of(get(state, "growth_tracker"), "") == 12);
  CHECK(
      state_to_json(state, JsonShape::lerobot) ==
      "{\n  \"scale\": 32768.0,\n  \"growth_factor\": 2.0,\n  \"backoff_factor\": 0.5,\n  \"growth_interval\": 2000,\n"
      "  \"_growth_tracker\": 12\n}\n");
  ScalerState nemo = state;
  nemo.policy = "nemo";
  CHECK_THROWS_WITH(state_to_json(nemo, JsonShape::lerobot), Contains("policy \"nemo\""));
}

TEST_CASE("what has four of lerobot's five names is no state") {
  const std::string members[] = {R"("scale":32768.0)", R"("growth_factor":2.0)", R"("backoff_factor":0.5)",
                                 R"("growth_interval":2000)", R"("_growth_tracker":12)"};
  for (const std::string& missing : members) {
    std::string text = "{";
    for (const std::string& member : members) {
      if (member != missing) text += (text.size() > 1 ? "," : "") + member;
    }
    INFO("without " << missing);
    CHECK_THROWS_WITH(state_from_json(text + "}", "x"), "x: no \"fields\"");
  }
}

TEST_CASE("a state that is too big for JSON is refused before it is expanded") {
  const auto refused = [](const StateArray& array) {
    ScalerState state;
    state.policy = "tomorrow";
    state.fields.set("history", array);
    try {
      state_to_json(state);
    } catch (const Error& error) {
      return error.status == Status::unsupported && error.hint == "Write it as HDF5 (.h5).";
    }
    return false;
  };
  CHECK(refused({{std::uint64_t{1} << 60, 0}, std::vector<double>{}}));  // would be so many empty rows
  CHECK(refused({{400'000'000}, std::vector<std::int64_t>{}}));
  CHECK(refused({{400'000'000}, std::vector<std::string>{}}));
  CHECK(!refused({{100'000}, std::vector<std::int64_t>(100'000)}));
}
