#include "lib/base/boxed.hpp"

#include <string>

#include "tests/catch.hpp"

using namespace tare;

TEST_CASE("what is boxed is copied with its box, moved out of it, and takes a pointer's room where it is not there") {
  struct Large {
    std::string text;
    char room[200] = {};
  };
  STATIC_REQUIRE(sizeof(Boxed<Large>) == sizeof(void*));
  Boxed<Large> one;
  CHECK_FALSE(one);
  one = Large{"a", {}};
  REQUIRE(one.has_value());
  Boxed<Large> copy = one;
  copy->text = "b";
  CHECK((*one).text == "a");
  const Boxed<Large> moved = std::move(one);
  CHECK(moved->text == "a");
  copy = {};
  CHECK_FALSE(copy.has_value());
  copy = moved;
  CHECK(copy->text == "a");
}
