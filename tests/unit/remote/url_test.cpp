
#include "lib/remote/url.hpp"
#include "lib/base/error.hpp"
#include "lib/base/files.hpp"
#include "lib/remote/http_client.hpp"
#include "tests/catch.hpp"

using namespace tare;

TEST_CASE("a URL is told from a path by its scheme") {
  for (const char* url :
       {"http://host/x", "HTTPS://host/x", "s3://bucket/key", "gs://bucket/x", "az://box/x", "HF://a/b"})
    CHECK(is_url(url));
  for (const char* path : {"http:/host", "s3:", "s3://", "run/https://x", "./s3://bucket/key", "abfs://x/y", ""}) {
    CHECK_FALSE(is_url(path));
  }
}

TEST_CASE("messages show no password and no signature of a URL") {
  CHECK(shown_url("https://me:secret@host:81/a/b.pt") == "https://host:81/a/b.pt");
  CHECK(shown_url("https://bucket.s3.amazonaws.com/b.pt?X-Amz-Signature=aa#x") ==
        "https://bucket.s3.amazonaws.com/b.pt");
  CHECK(shown_url("http://host/a@b") == "http://host/a@b");
  CHECK(shown_url("http://host") == "http://host");
}

TEST_CASE("an S3 object has a bucket and a key") {
  CHECK(parse_bucket("s3://my-bucket/run/step 1/rank0.pt").bucket == "my-bucket");
  CHECK(parse_bucket("s3://my-bucket/run/step 1/rank0.pt").key == "run/step 1/rank0.pt");
  for (const char* bucket : {"s3://my-bucket", "s3://my-bucket/"}) {
    CHECK(parse_bucket(bucket).bucket == "my-bucket");
    CHECK(parse_bucket(bucket).key.empty());
  }
  for (const char* wrong : {"s3:///key", "s3://", "s3://buc ket/key", "s3://b@c/key", "bucket/key"}) {
    CHECK_THROWS_AS(parse_bucket(wrong), Error);
  }
}

TEST_CASE("S3 is asked at the bucket's host, or below an endpoint of one's own") {
  S3Settings settings;
  settings.region = "eu-west-1";
  CHECK(s3_url({"runs", "a b/\xc3\xa9+.pt"}, settings) == "https://runs.s3.eu-west-1.amazonaws.com/a%20b/%C3%A9%2B.pt");
  CHECK(s3_url({"my.runs", "x"}, settings) == "https://s3.eu-west-1.amazonaws.com/my.runs/x");
  settings.endpoint = "http://localhost:9000";
  CHECK(s3_url({"runs", "x"}, settings) == "http://localhost:9000/runs/x");
  settings.style = S3Settings::Style::virtual_host;
  CHECK(s3_url({"runs", "x"}, settings) == "http://runs.localhost:9000/x");
  settings.style = S3Settings::Style::path;
  settings.endpoint.clear();
  CHECK(s3_url({"runs", "x"}, settings) == "https://s3.eu-west-1.amazonaws.com/runs/x");
}

TEST_CASE("what is escaped for a query comes back") {
  const std::string all = "a/b c+%&=~-._\xc3\xa9\n";
  CHECK(escaped_value(all) == "a%2Fb%20c%2B%25%26%3D~-._%C3%A9%0A");
  CHECK(unescaped_value(escaped_value(all)) == all);
  CHECK(unescaped_value("a+b%2") == "a b%2");
  CHECK(unescaped_value("%zz%4x%41") == "%zz%4xA");
}

TEST_CASE("a way is private by https, or to this machine") {
  for (const char* url :
       {"https://a.example/x", "HTTPS://a.example", "http://localhost:8080/x", "http://127.0.0.1", "http://[::1]:1/"}) {
    CHECK(is_private_way(url));
  }
  for (const char* url :
       {"http://a.example", "http://localhost.a.example", "http://localhost@a.example/", "http://127.0.0.1.a.example",
        "http://a.example/https://b", "ftp://localhost/x", "", "localhost"}) {
    CHECK_FALSE(is_private_way(url));
  }
}
