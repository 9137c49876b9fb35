#include "lib/remote/web_index.hpp"

#include <algorithm>
#include <vector>

#include "tests/catch.hpp"

using namespace tare;

namespace {

std::vector<std::string> keys_of(const ListPage& page) {
  std::vector<std::string> keys;
  for (const ListedObject& object : page.objects) keys.push_back(object.key);
  return keys;
}

}  // namespace

TEST_CASE("nginx, Apache and Python list a folder by links of its names") {
  const auto nginx =
      parse_web_index(R"(<html><head><title>Index of /run/</title></head><body><h1>Index of /run/</h1><hr><pre>
<a href="../">../</a><a href="global_step2/">global_step2/</a>  26-Nov-2026 10:00   -
<a href="a%20b%26c.pt">a b&amp;c.pt</a>  26-Nov-2026 10:00   1234</pre></body></html>)");
  REQUIRE(nginx);
  CHECK(nginx->is_level);
  CHECK(nginx->folders == std::vector<std::string>{"global_step2/"});
  CHECK(keys_of(*nginx) == std::vector<std::string>{"a b&c.pt"});

  const auto apache =
      parse_web_index(R"(<title>Index of /run</title><a href="?C=N;O=D">Name</a><a href="/">Parent Directory</a>
<a href="latest">latest</a><a href="x&amp;y.pt">x</a>)");
  REQUIRE(apache);
  CHECK(keys_of(*apache) == std::vector<std::string>{"latest", "x&y.pt"});
  CHECK(apache->folders.empty());

  const auto python =
      parse_web_index(R"(<title>Directory listing for /run/</title><li><a href=".metadata">.metadata</a></li>)");
  REQUIRE(python);
  CHECK(keys_of(*python) == std::vector<std::string>{".metadata"});
}

TEST_CASE("names that are no part of a URL as they are written are found in a page of links") {
  const auto page = parse_web_index(
      R"(<title>Index of /</title><a href="a%23b/"><a href="a%2520b.pt"><a href="a%3Fb.pt"><a href="&#x27;a&quot;&lt;&#39;.pt"><a href="x.pt?raw=1">)");
  REQUIRE(page);
  CHECK(page->folders == std::vector<std::string>{"a#b/"});
  CHECK(keys_of(*page) == std::vector<std::string>{"a%20b.pt", "a?b.pt", "'a\"<'.pt", "x.pt"});
}

TEST_CASE("a link that leads out of the folder is no name in it, and another page no list") {
  const auto page = parse_web_index(
      R"(<title>Index of /</title><a href="https://host/x.pt"><a href="a/b.pt"><a href="..%2Fx.pt"><a href="#top"><a href="//host/"><a href="c.pt)");
  REQUIRE(page);
  CHECK(keys_of(*page) == std::vector<std::string>{"c.pt"});
  CHECK(page->folders.empty());
  CHECK_FALSE(parse_web_index(R"(<title>My runs</title><a href="c.pt">c.pt</a>)"));
}
