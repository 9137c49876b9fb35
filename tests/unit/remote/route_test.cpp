#include "lib/remote/route.hpp"

#include "lib/base/error.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

NetAddress at(const char* text, std::uint16_t port = 80) {
  return *address_of(text, port);
}

bool may_go(const std::string& from, const std::string& to, bool allows_private = false) {
  HostPlaces hosts;
  Route route(hosts, "object", from, allows_private);
  try {
    route.go_to(to);
    return true;
  } catch (const Error& error) {
    CHECK(error.status == Status::refused);
    return false;
  }
}

}  // namespace

TEST_CASE("the URL that the user gives may lead inside, and a server from outside may not") {
  HostPlaces hosts;
  Route typed(hosts, "object", "http://intranet/a", false);
  CHECK(typed.takes(at("10.0.0.1")));
  Route route(hosts, "object", "http://example.com/a", false);
  CHECK(route.takes(at("1.1.1.1")));
  route.go_to("http://elsewhere.example/a");
  CHECK_FALSE(route.allows(at("169.254.169.254")));
  CHECK_THROWS_AS(route.require_allowed(), Error);
  CHECK(route.takes(at("2.2.2.2")));
  CHECK_NOTHROW(route.require_allowed());
}

TEST_CASE("a redirect leads inside only to the server that the user named, or where it is allowed") {
  HostPlaces hosts;
  Route route(hosts, "object", "http://127.0.0.1:8000/a", false);
  CHECK(route.takes(at("127.0.0.1", 8000)));
  route.go_to("http://127.0.0.1:8000/b");
  CHECK(route.allows(at("127.0.0.1", 8000)));
  CHECK_FALSE(route.allows(at("127.0.0.1", 8001)));
  CHECK_FALSE(route.allows(at("::1", 8000)));
  Route allowed(hosts, "object", "http://127.0.0.1:8000/a", true);
  allowed.go_to("http://10.0.0.1/b");
  CHECK(allowed.allows(at("10.0.0.1")));
}

TEST_CASE("a name that led outside first and leads inside then was bent") {
  HostPlaces hosts;
  CHECK(Route(hosts, "object", "http://example.com/a", false).takes(at("1.1.1.1")));
  CHECK_FALSE(Route(hosts, "object", "http://EXAMPLE.com/b", false).takes(at("127.0.0.1")));
  CHECK(Route(hosts, "object", "http://example.com/b", false).takes(at("1.0.0.1")));
}

TEST_CASE("redirects stay on the web, keep its encryption, and name no address inside") {
  CHECK(may_go("http://a/x", "https://b/x"));
  CHECK(may_go("https://a/x", "https://b/x"));
  CHECK_FALSE(may_go("https://a/x", "http://a/x"));
  CHECK_FALSE(may_go("https://a/x", "http://a/x", true));
  for (const char* other : {"file:///etc/passwd", "ftp://a/x", "gopher://a/x", "s3://a/x", "dict://a", "/x", ""}) {
    INFO(other);
    CHECK_FALSE(may_go("http://a/x", other, true));
  }
  for (const char* inside :
       {"http://127.0.0.1/x", "http://me@[::1]:80/x", "http://[::ffff:10.0.0.1]/x", "http://10.0.0.1"}) {
    INFO(inside);
    CHECK_FALSE(may_go("http://a/x", inside));
    CHECK(may_go("http://a/x", inside, true));
  }
}

TEST_CASE("a password is for the user's own host") {
  HostPlaces hosts;
  Route route(hosts, "object", "https://me:secret@Example.com/a", false);
  CHECK(route.is_at_home());
  route.go_to("https://example.com/b");
  CHECK(route.is_at_home());
  route.go_to("https://example.com:444/b");
  CHECK_FALSE(route.is_at_home());
  route.go_to("https://example.com.evil/b");
  CHECK_FALSE(route.is_at_home());
}
