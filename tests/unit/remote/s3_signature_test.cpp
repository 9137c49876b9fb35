// AWS signature version 4, held against the examples that Amazon's documentation of S3 works out.
#include "lib/remote/s3_signature.hpp"

#include <algorithm>

#include "tests/catch.hpp"

namespace tare {
namespace {

constexpr std::time_t of_the_examples = 1369353600;  // 2013-05-24, 00:00:00 UTC
constexpr std::string_view bucket = "https://examplebucket.s3.amazonaws.com";

S3Settings who_asks() {
  S3Settings settings;
  settings.access_key = "AKIAIOSFODNN7EXAMPLE";
  settings.secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
  return settings;
}

struct Authorization {
  std::string signed_names, signature;
};

/// Of the line that signs a request.
Authorization authorization(std::string_view method, const std::string& url, std::vector<std::string> lines = {},
                            std::string_view body = {}) {
  const auto made = signed_lines(who_asks(), {method, url, as_bytes(body), std::move(lines)}, of_the_examples);
  const std::string& line = made.back();
  const std::string begin =
      "Authorization: AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
      "SignedHeaders=";
  REQUIRE(line.starts_with(begin));
  const std::size_t comma = line.find(", Signature=");
  REQUIRE(comma != line.npos);
  return {line.substr(begin.size(), comma - begin.size()), line.substr(comma + 12)};
}

std::string at(std::string_view path) {
  return std::string(bucket) + std::string(path);
}

TEST_CASE("a range of an object is asked for with the signature that S3's documentation works out") {
  const auto found = authorization("GET", at("/test.txt"), {"range: bytes=0-9"});
  CHECK(found.signed_names == "host;range;x-amz-content-sha256;x-amz-date");
  CHECK(found.signature == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_CASE("an object is written with the signature that S3's documentation works out, its bytes with it") {
  const std::vector<std::string> lines{"date: Fri, 24 May 2013 00:00:00 GMT",
                                       "x-amz-storage-class: REDUCED_REDUNDANCY"};
  const auto found = authorization("PUT", at("/test%24file.text"), lines, "Welcome to Amazon S3.");
  CHECK(found.signed_names == "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class");
  CHECK(found.signature == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
  CHECK(authorization("PUT", at("/test%24file.text"), lines, "Welcome to Amazon S4.").signature != found.signature);
}

TEST_CASE("a port is signed where the request names it: not where its scheme has it anyway") {
  const auto signature = [](const std::string& host) { return authorization("GET", host + "/key").signature; };
  CHECK(signature("https://store:443") == signature("https://store"));
  CHECK(signature("http://store:80") == signature("http://store"));
  CHECK(signature("https://store:80") != signature("https://store"));
  CHECK(signature("http://store:443") != signature("http://store"));
  CHECK(signature("http://store:9000") != signature("http://store"));
}

TEST_CASE("a name in the query that has no value is signed with an empty one") {
  const std::string wanted = "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543";
  CHECK(authorization("GET", at("/?lifecycle")).signature == wanted);
  CHECK(authorization("GET", at("/?lifecycle=")).signature == wanted);
}

TEST_CASE("a query is signed sorted, in whatever order it stands") {
  const std::string wanted = "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7";
  CHECK(authorization("GET", at("/?max-keys=2&prefix=J")).signature == wanted);
  CHECK(authorization("GET", at("/?prefix=J&max-keys=2")).signature == wanted);
  CHECK(authorization("GET", at("?prefix=J&max-keys=2")).signature == wanted);
  CHECK(authorization("GET", at("/?prefix=J&max-keys=3")).signature != wanted);
}

TEST_CASE("a query is signed with all but unreserved characters escaped, however it was spelt") {
  const auto signature = [](std::string_view query) { return authorization("GET", at(query)).signature; };
  const std::string wanted = signature("/?prefix=a%2Fb%3D%2B~&uploads=");
  CHECK(signature("/?prefix=a/b=+~&uploads") == wanted);
  CHECK(signature("/?uploads&prefix=a%2fb%3d%2b%7E") == wanted);
  CHECK(signature("/?uploads&prefix=a%2Fb%3D%20~") != wanted);
}

TEST_CASE("names and values are sorted as they are escaped, names before values") {
  const auto signature = [](std::string_view query) { return authorization("GET", at(query)).signature; };
  CHECK(signature("/?a-b=1&a=2") == signature("/?a=2&a-b=1"));
  CHECK(signature("/?a=2&a=1") == signature("/?a=1&a=2"));
  CHECK(signature("/?a=1&a=2") != signature("/?a=1&a=3"));
}

TEST_CASE("header lines are signed by their names in small letters, in the names' order, without blanks to spare") {
  const auto wanted = authorization("PUT", at("/x"), {"x-amz-copy-source: /b/a", "x-amz-copy-source-range: bytes=0-1"});
  CHECK(wanted.signed_names == "host;x-amz-content-sha256;x-amz-copy-source;x-amz-copy-source-range;x-amz-date");
  CHECK(authorization("PUT", at("/x"), {"X-Amz-Copy-Source-Range:bytes=0-1", "X-Amz-Copy-Source:  /b/a "}).signature ==
        wanted.signature);
  CHECK(authorization("PUT", at("/x"), {"x-amz-meta-a: two  words"}).signature ==
        authorization("PUT", at("/x"), {"x-amz-meta-a: two words"}).signature);
}

TEST_CASE("Google's signature has Google's names, and is another one") {
  S3Settings settings = who_asks();
  settings.signature = S3Settings::Signature::google;
  settings.region = "auto";
  const auto lines = signed_lines(settings, {"GET", at("/x"), {}, {}}, of_the_examples);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].starts_with("x-goog-content-sha256: e3b0c442"));
  CHECK(lines[1] == "x-goog-date: 20130524T000000Z");
  CHECK(lines[2].starts_with(
      "Authorization: GOOG4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/auto/storage/goog4_request, "
      "SignedHeaders=host;x-goog-content-sha256;x-goog-date, Signature="));
}

TEST_CASE("what signs a request goes with it, and all that was given") {
  const auto lines = signed_lines(who_asks(), {"GET", at("/test.txt"), {}, {"range: bytes=0-9"}}, of_the_examples);
  const std::vector<std::string> wanted{
      "range: bytes=0-9", "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      "x-amz-date: 20130524T000000Z"};
  REQUIRE(lines.size() == wanted.size() + 1);
  CHECK(std::equal(wanted.begin(), wanted.end(), lines.begin()));
}

}  // namespace
}  // namespace tare
