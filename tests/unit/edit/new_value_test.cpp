#include "lib/edit/new_value.hpp"

#include "lib/base/error.hpp"
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
