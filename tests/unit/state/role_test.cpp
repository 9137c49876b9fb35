#include "lib/state/role.hpp"
#include "tests/catch.hpp"

#include <set>
#include <string>

using namespace tare;

TEST_CASE("a role is found by its name, and the interval by its alias too") {
  CHECK(parse_role("scale") == Role::scale);
  CHECK(parse_role("hysteresis_tracker") == Role::hysteresis_tracker);
  CHECK(parse_role("growth_interval") == Role::growth_interval);
  CHECK(parse_role("window") == Role::growth_interval);
  CHECK_FALSE(parse_role("cur_scale"));
  CHECK_FALSE(parse_role(""));
  CHECK_FALSE(parse_role("Scale"));
}

TEST_CASE("every role has a name of its own that leads back to it") {
  std::set<std::string_view> names;
  for (const RoleFacts& row : roles()) {
    CHECK(parse_role(row.name) == row.role);
    CHECK(name(row.role) == row.name);
    CHECK_FALSE(row.meaning.empty());
    names.insert(row.name);
  }
  CHECK(names.size() == roles().size());
}

TEST_CASE("what values a role takes is told by its quantity") {
  CHECK(facts(Role::scale).quantity == Quantity::scale);
  CHECK(facts(Role::growth_tracker).quantity == Quantity::count);
  CHECK(facts(Role::growth_interval).quantity == Quantity::interval);
  CHECK(facts(Role::dynamic).quantity == Quantity::flag);
}
