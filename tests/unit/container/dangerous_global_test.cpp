// What a pickle must not name, whatever module carries it: scanners' lists, and ways around them.
#include "lib/container/pickle/globals/dangerous_global.hpp"

#include "tests/catch.hpp"

using namespace tare;

TEST_CASE("a dangerous name of a harmless module is told, by its own name or a pattern's, and its neighbours are not") {
  CHECK(is_dangerous_global("accelerate", "debug_launcher"));
  CHECK(is_dangerous_global("accelerate.utils", "load"));
  CHECK(is_dangerous_global("keras.src.layers.core", "Lambda"));
  CHECK_FALSE(is_dangerous_global("accelerate.utils", "DistributedType"));
  CHECK_FALSE(is_dangerous_global("keras.src.layers.core", "Dense"));
}

TEST_CASE("a dangerous name is told however it is parted into module and attribute") {
  CHECK(is_dangerous_global("accelerate", "utils.load"));
  CHECK(is_dangerous_global("accelerate.utils", "load.__call__"));
}

TEST_CASE("builtins that run code are told by Python 2's name as well") {
  CHECK(is_dangerous_global("builtins", "eval"));
  CHECK(is_dangerous_global("__builtin__", "eval"));
  CHECK_FALSE(is_dangerous_global("__builtin__", "set"));
}

TEST_CASE("data types of dangerous packages are harmless, and what they lead to is not") {
  CHECK_FALSE(is_dangerous_global("_io", "BytesIO"));
  CHECK(is_dangerous_global("_io", "open"));
}
