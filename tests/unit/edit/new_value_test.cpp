#include "lib/edit/new_value.hpp"

#include <cmath>
#include <limits>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

Field field(std::string name, std::optional<Role> role, Value value) {
  return {std::move(name), role, std::move(value), 0, true};
}

Field scale_float() {
  return field("scale", Role::scale, {65536.0, "float"});
}
Field scale_int() {
  return field("cur_scale", Role::scale, {Integer{65536, {}}, "int"});
}
Field scale_tensor() {
  return field("scale", Role::scale, {ValueList{{65536.0, "float"}}, "tensor:float32[1]"});
}
Field tracker() {
  return field("_growth_tracker", Role::growth_tracker, {Integer{3, {}}, "int"});
}

Status refusal(const Field& field, const std::string& text) {
  try {
    new_value(field, text, false);
  } catch (const Error& error) {
    return error.status;
  }
  return Status::ok;
}

}  // namespace

TEST_CASE("a float stays a float and an int stays an int where it can be one") {
  CHECK(std::get<double>(new_value(scale_float(), "4096", false).data) == 4096.0);
  CHECK(std::get<Integer>(new_value(scale_int(), "2^12", false).data).value == 4096);
  CHECK(new_value(scale_int(), "4096", false).note.empty());
}

TEST_CASE("an int that must become a float says so") {
  const NewValue half = new_value(scale_int(), "0.5", false);
  CHECK(std::get<double>(half.data) == 0.5);
  CHECK(half.after.type == "float");
  CHECK(half.note == "int becomes float: an int cannot be 0.5");
}

TEST_CASE("a tensor's value is what its type makes of it") {
  const NewValue value = new_value(scale_tensor(), "0.1", false);
  CHECK(value.after.type == "tensor:float32[1]");
  CHECK(value.after.as_double() == static_cast<double>(0.1F));
}

TEST_CASE("values that no framework could use are refused, and written when forced") {
  for (const char* text : {"0", "-1", "nan", "inf", "1e39", "1e-60"}) {
    CAPTURE(text);
    CHECK(refusal(scale_float(), text) == Status::refused);
    CHECK_NOTHROW(new_value(scale_float(), text, true));
  }
  CHECK(refusal(tracker(), "1.5") == Status::refused);
  CHECK(refusal(field("growth_interval", Role::growth_interval, {Integer{2000, {}}, "int"}), "0") == Status::refused);
  CHECK(refusal(field("growth_factor", Role::growth_factor, {2.0, "float"}), "1") == Status::refused);
  CHECK(refusal(field("backoff_factor", Role::backoff_factor, {0.5, "float"}), "1.5") == Status::refused);
}

TEST_CASE("what the field's type rounds to a value of no use is refused as that, and written when forced") {
  const auto said = [](Role role, double now, const char* type, const char* given) {
    const Field own = field("x", role, {ValueList{{now, "float"}}, type});
    CHECK_NOTHROW(new_value(own, given, true));
    try {
      new_value(own, given, false);
    } catch (const Error& error) {
      CHECK(error.status == Status::refused);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(said(Role::scale, 1, "tensor:float16[1]", "1e-8") ==
        "x=1e-8: 0.0 in float16 is not positive: gradients would vanish or turn round");
  CHECK(said(Role::scale, 1, "tensor:float16[1]", "1e-7").empty());
  CHECK(said(Role::growth_factor, 2, "tensor:float32[1]", "1.00000001") ==
        "x=1.00000001: 1.0 in float32 would never let the scale grow");
  CHECK(said(Role::growth_factor, 2, "tensor:float64[1]", "1.00000001").empty());
  CHECK(said(Role::backoff_factor, 0.5, "tensor:float32[]", "0.99999999") ==
        "x=0.99999999: 1.0 in float32 would never let the scale back off");
}

TEST_CASE("what the type cannot hold is refused even when forced") {
  const Field count = field("_growth_tracker", Role::growth_tracker, {Integer{3, {}}, "tensor:int32[]"});
  CHECK_THROWS_AS(new_value(count, "1.5", true), Error);
  CHECK_THROWS_AS(new_value(count, "4294967296", true), Error);
  CHECK_THROWS_AS(new_value(scale_tensor(), "1e39", true), Error);
}

TEST_CASE("text that is no value is wrong usage, a word where a number is wanted is refused") {
  CHECK(refusal(scale_float(), "big") == Status::invalid_argument);
  CHECK(refusal(scale_float(), "") == Status::invalid_argument);
  CHECK(refusal(scale_float(), "true") == Status::refused);
  CHECK(refusal(field("dynamic", Role::dynamic, {true, "bool"}), "1") == Status::refused);
  CHECK(std::get<bool>(new_value(field("dynamic", Role::dynamic, {true, "bool"}), "false", false).data) == false);
}

TEST_CASE("a field without a number is refused") {
  CHECK(refusal(field("_scale", std::nullopt, {std::monostate(), "None"}), "1") == Status::refused);
}

TEST_CASE("each role takes numbers up to its edge, and says of the next one what is wrong with it") {
  constexpr double largest = std::numeric_limits<float>::max();
  constexpr double least = std::numeric_limits<float>::denorm_min();
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double over_one = std::nextafter(1.0, 2.0);
  const double under_one = std::nextafter(1.0, 0.0);
  struct Case {
    Role role;
    double value;
    const char* problem;  ///< empty where it is taken
  };
  const std::vector<Case> cases = {
      {Role::scale, largest, ""},
      {Role::scale, std::nextafter(largest, infinite), "is above float32's largest, 3.4e38"},
      {Role::scale, least, ""},
      {Role::scale, least / 4, "is 0 in float32"},
      {Role::scale, 0, "is not positive: gradients would vanish or turn round"},
      {Role::scale, -least, "is not positive: gradients would vanish or turn round"},
      {Role::scale, infinite, "is not finite"},
      {Role::scale, nan, "is not finite"},
      {Role::growth_factor, over_one, ""},
      {Role::growth_factor, 1, "would never let the scale grow"},
      {Role::growth_factor, under_one, "would never let the scale grow"},
      {Role::growth_factor, 0, "is no positive number"},
      {Role::growth_factor, -2, "is no positive number"},
      {Role::growth_factor, infinite, "is no positive number"},
      {Role::growth_factor, nan, "is no positive number"},
      {Role::backoff_factor, under_one, ""},
      {Role::backoff_factor, std::numeric_limits<double>::min(), ""},
      {Role::backoff_factor, 1, "would never let the scale back off"},
      {Role::backoff_factor, over_one, "would never let the scale back off"},
      {Role::backoff_factor, 0, "is no positive number"},
      {Role::backoff_factor, -0.5, "is no positive number"},
      {Role::growth_interval, 1, ""},
      {Role::growth_interval, 0, "is no whole number of 1 or more"},
      {Role::growth_interval, over_one, "is no whole number of 1 or more"},
      {Role::growth_interval, 2.5, "is no whole number of 1 or more"},
      {Role::growth_interval, infinite, "is no whole number of 1 or more"},
      {Role::growth_tracker, 0, ""},
      {Role::growth_tracker, -1, ""},
      {Role::growth_tracker, 0.5, "is no whole number"},
      {Role::growth_tracker, infinite, "is no whole number"},
      {Role::growth_tracker, nan, "is no whole number"},
  };
  for (const auto& [role, value, problem] : cases) {
    INFO(name(role) << " " << value);
    const Field own = field("x", role, {1.0, "float"});
    std::string said;
    try {
      said = std::get<double>(new_value(own, value, false).data) == value ? "" : "another number";
    } catch (const Error& error) {
      CHECK(error.status == Status::refused);
      CHECK(error.hint == "--force writes it all the same");
      said = error.what();
    }
    const std::string number = float_text(value);
    CHECK(said == (*problem == '\0' ? "" : "x=" + number + ": " + number + " " + problem));
    CHECK_NOTHROW(new_value(own, value, true));
  }
}

TEST_CASE("a number becomes what Python's own type of the field can be, and a change of type is said") {
  const auto made = [](const char* type, const StateValue& given) {
    const NewValue value = new_value(field("x", std::nullopt, {1.0, type}), given, true);
    const auto* flag = std::get_if<bool>(&value.data);
    const auto* whole = std::get_if<Integer>(&value.data);
    const std::string text = flag != nullptr    ? *flag ? "true" : "false"
                             : whole != nullptr ? whole->text()
                                                : float_text(std::get<double>(value.data));
    CHECK(value.after.type == (flag != nullptr ? "bool" : whole != nullptr ? "int" : "float"));
    return text + (value.note.empty() ? "" : "; " + value.note);
  };
  CHECK(made("float", 4.0) == "4.0");
  CHECK(made("float", true) == "1.0");
  CHECK(made("int", 4.0) == "4");
  CHECK(made("int", std::int64_t{-4}) == "-4");
  CHECK(made("int", 0.25) == "0.25; int becomes float: an int cannot be 0.25");
  CHECK(made("int", false) == "0");
  CHECK(made("bool", true) == "true");
  CHECK(made("bool", "false") == "false");
  CHECK(made("bool", 1.0) == "1; bool becomes int");
  CHECK(made("bool", 0.5) == "0.5; bool becomes float: an int cannot be 0.5");
  CHECK(made("int", 0x1p62) == "4611686018427387904");
  CHECK(made("int", std::nextafter(0x1p63, 0.0)) == "9223372036854774784");
  CHECK(made("int", 0x1p63) == "9223372036854775808");
  CHECK(made("int", -0x1p63) == "-9223372036854775808");
  CHECK(made("int", 0x1p64) == "18446744073709551616");
  CHECK(made("int", std::numeric_limits<double>::infinity()) == "inf; int becomes float: an int cannot be inf");
}

TEST_CASE("a whole number is kept to its last digit, where a double would take its neighbour") {
  const auto made = [](const char* type, const StateValue& given) {
    const NewValue value = new_value(field("n", std::nullopt, {Integer{1, {}}, type}), given, false);
    CHECK(same(Value{*value.after.number()}, Value{std::get<Integer>(value.data), value.after.number()->type}));
    return std::get<Integer>(value.data);
  };
  for (const char* type : {"int", "tensor:int64[]"}) {
    CAPTURE(type);
    CHECK(made(type, "9223372036854775807").text() == "9223372036854775807");
    CHECK(made(type, std::int64_t{9223372036854775807}).text() == "9223372036854775807");
    CHECK(made(type, "9007199254740993").text() == "9007199254740993");
    CHECK(made(type, "-9223372036854775808") == Integer{std::numeric_limits<std::int64_t>::min(), {}});
    CHECK(made(type, "0x7ffffffffffffffe").text() == "9223372036854775806");
    CHECK(made(type, "3^39").text() == "4052555153018976267");
  }
  CHECK(made("int", "9223372036854775809").text() == "9223372036854775809");
  CHECK(made("int", "3^41").text() == "36472996377170786403");
  CHECK(made("int", -0x1p63) == Integer{std::numeric_limits<std::int64_t>::min(), {}});
  CHECK_THROWS_WITH(made("tensor:int64[]", "9223372036854775809"), "n=9223372036854775809: int64 cannot hold that");
  CHECK_THROWS_WITH(made("tensor:int32[]", "9007199254740993"), "n=9007199254740993: int32 cannot hold that");
}

TEST_CASE("what is given is a number of any kind, a word, or a text of one; lists and other texts are no value") {
  CHECK(given_number(true, "") == 1);
  CHECK(given_number(false, "") == 0);
  CHECK(given_number("true", "") == 1);
  CHECK(given_number("false", "") == 0);
  CHECK(given_number(std::int64_t{-7}, "") == -7);
  CHECK(given_number(0.5, "") == 0.5);
  CHECK(given_number("2^-3", "") == 0.125);
  for (const StateValue& given : {StateValue("True"), StateValue("1,2"), StateValue(StateArray())}) {
    try {
      given_number(given, "scale: ");
      FAIL("it was taken");
    } catch (const Error& error) {
      CHECK(error.status == Status::invalid_argument);
      CHECK(std::string(error.what()) == "scale: '" + given_text(given) + "' is no value");
    }
  }
  CHECK(given_text(std::string("2^3")) == "2^3");
  CHECK(given_text(std::int64_t{12}) == "12");
  CHECK(given_text(12.0) == "12.0");
  CHECK(given_text(true) == "true");
}

TEST_CASE("a word is wanted where a flag stands, by its role or by its type, and a number elsewhere") {
  const auto refused = [](std::optional<Role> role, const char* type, const StateValue& given) {
    try {
      new_value(field("x", role, {1.0, type}), given, false);
    } catch (const Error& error) {
      CHECK(error.status == Status::refused);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused(Role::dynamic, "int", true).empty());
  CHECK(refused(Role::dynamic, "int", 1.0) == "x=1.0: true or false is wanted");
  CHECK(refused(std::nullopt, "bool", true).empty());
  CHECK(refused(std::nullopt, "bool", 1.0) == "x=1.0: true or false is wanted");
  CHECK(refused(std::nullopt, "tensor:bool[]", 1.0) == "x=1.0: true or false is wanted");
  CHECK(refused(std::nullopt, "int", true) == "x=true: a number is wanted");
  CHECK(refused(Role::scale, "bool", true) == "x=true: a number is wanted");
  CHECK(refused(Role::scale, "bool", 2.0).empty());
}
