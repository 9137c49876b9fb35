// The system's list of users, also where somebody wrote nonsense into it.
#include "lib/transaction/user_list.hpp"

#include <unistd.h>

#include <fstream>
#include <sstream>

#include "lib/transaction/origin.hpp"
#include "tests/catch.hpp"

namespace tare::test {
namespace {

std::optional<User> found(const std::string& list, uid_t id) {
  std::istringstream lines(list);
  return user_in(lines, id);
}

TEST_CASE("a user is found by number, the first of several, whatever stands around") {
  const std::string list =
      "root:x:0:0:root:/root:/bin/sh\n"
      "# a comment\n"
      "\n"
      "half:x:7:7\n" +
      std::string(100'000, 'x') + ":x:7:7::/long:\n" +
      ":x:7:7:no name:/nameless:\n"
      "more:x:+7:7::/plus:\n"
      "part:x:7x:7::/part:\n"
      "ada:x:7:7:Ada, of the \xff:/home/ada:/bin/sh\n"
      "eve:x:7:7::/home/eve:\n"
      "last:x:4294967294:1::relative:/bin/sh";
  REQUIRE(found(list, 7));
  CHECK(found(list, 7)->name == "ada");
  CHECK(found(list, 7)->home == "/home/ada");
  CHECK(found(list, 0)->home == "/root");
  CHECK(found(list, 4294967294)->home == "relative");
  CHECK_FALSE(found(list, 8));
  CHECK_FALSE(found("", 0));
  CHECK_FALSE(found(std::string(5000, ':'), 0));
}

TEST_CASE("this system's users are those of its list") {
  std::ifstream list("/etc/passwd");
  const auto listed = user_in(list, 0);
  REQUIRE(user_of(0).has_value() == listed.has_value());
  if (listed) CHECK(user_of(0)->home == listed->home);
}

TEST_CASE("who is in no list goes by the number") {
  const auto user = user_of(::geteuid());
  CHECK(this_origin("x").user == (user ? user->name : std::to_string(::geteuid())));
  CHECK_FALSE(user_of(4294967294));
}

}  // namespace
}  // namespace tare::test
