#include "lib/remote/list_page.hpp"
#include "lib/base/error.hpp"
#include "lib/remote/gcs_listing.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

std::optional<ListPage> parse(const std::string& xml) {
  return parse_s3_page("s3://bucket", as_bytes(xml));
}

}  // namespace

TEST_CASE("a page of S3's has keys, sizes, folders, and where it goes on") {
  // As Amazon documents it for ListObjectsV2, with a delimiter.
  const auto page = parse(R"(<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
  <Name>example-bucket</Name>
  <Prefix></Prefix>
  <NextContinuationToken>1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=</NextContinuationToken>
  <KeyCount>2</KeyCount>
  <MaxKeys>2</MaxKeys>
  <Delimiter>/</Delimiter>
  <IsTruncated>true</IsTruncated>
  <Contents>
    <Key>sample.jpg</Key>
    <LastModified>2011-02-26T01:56:20.000Z</LastModified>
    <ETag>"bf1d737a4d46a19f3bced6905cc8b902"</ETag>
    <Size>142863</Size>
    <StorageClass>STANDARD</StorageClass>
  </Contents>
  <CommonPrefixes>
    <Prefix>photos/</Prefix>
  </CommonPrefixes>
</ListBucketResult>)");
  REQUIRE(page.has_value());
  REQUIRE(page->objects.size() == 1);
  CHECK(page->objects[0].key == "sample.jpg");
  CHECK(page->objects[0].size == 142863);
  CHECK(page->folders == std::vector<std::string>{"photos/"});
  CHECK(page->next == "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=");
}

TEST_CASE("keys are unescaped where the answer says that they are escaped") {
  const std::string key = "<Contents><Key>a%20b+c%2B&amp;</Key><Size>0</Size></Contents></ListBucketResult>";
  const auto escaped = parse("<ListBucketResult><EncodingType>url</EncodingType>" + key);
  CHECK(escaped.value().objects.at(0).key == "a b c+&");
  CHECK(escaped.value().next.empty());
  CHECK(parse("<ListBucketResult>" + key).value().objects.at(0).key == "a%20b+c%2B&");
}

TEST_CASE("what is no listing is told from a listing that is broken") {
  CHECK_FALSE(parse("").has_value());
  CHECK_FALSE(parse("<html>ListBucketResult</html>").has_value());
  CHECK_FALSE(parse("<Error><Code>NoSuchBucket</Code></Error>").has_value());
  CHECK_FALSE(parse("<!DOCTYPE html><ListBucketResult/>").has_value());
  for (const char* broken : {
           "<ListBucketResult>",
           "<ListBucketResult></Other>",
           "<ListBucketResult/><ListBucketResult/>",
           "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
           "<ListBucketResult><Contents><Size>1e3</Size></Contents></ListBucketResult>",
           "<ListBucketResult><a><a><a><a><a><a><a><a><a></a></a></a></a></a></a></a></a></a></ListBucketResult>",
       }) {
    CHECK_THROWS_AS(parse(broken), Error);
  }
}

TEST_CASE("a page of Google's JSON API has names, sizes, folders, sums, and where it goes on") {
  const auto parse_json = [](const std::string& json) {
    return parse_google_page("gs://bucket/run", "run/", as_bytes(json));
  };
  const ListPage page = parse_json(R"({"kind":"storage#objects","nextPageToken":"Cgxy","prefixes":["run/a/"],
    "items":[{"name":"run/x é.pt","size":"4400000000","md5Hash":"1B2M2Y8AsgTpgAmY7PhCfg=="},{"name":"run/y","size":"0"}]})");
  REQUIRE(page.objects.size() == 2);
  CHECK(page.objects[0].key == "x é.pt");
  CHECK(page.objects[0].size == 4'400'000'000);
  CHECK(page.objects[0].tag == "d41d8cd98f00b204e9800998ecf8427e");
  CHECK(page.objects[1].key == "y");
  CHECK(page.objects[1].tag.empty());
  CHECK(page.folders == std::vector<std::string>{"a/"});
  CHECK(page.next == "Cgxy");
  CHECK(parse_json("{}").objects.empty());
  CHECK(parse_json("{}").next.empty());
  for (const char* broken :
       {"[]", "{", R"({"items":1})", R"({"items":[{"name":"other/a","size":"1"}]})", R"({"items":[{"name":"run/a"}]})",
        R"({"items":[{"name":"run/a","size":"-1"}]})", R"({"prefixes":["x/"]})"}) {
    CAPTURE(broken);
    try {
      parse_json(broken);
      FAIL("nothing is thrown");
    } catch (const Error& error) {
      CHECK(error.status == Status::io);
    }
  }
}
