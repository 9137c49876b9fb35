#include "lib/remote/written_urls.hpp"

#include "tests/catch.hpp"

using namespace tare;

TEST_CASE("nobody reads the password or the signature of a URL, and the server is asked with them") {
  WrittenUrls urls;
  CHECK(urls.keep("https://me:secret@host/run") == "https://host/run");
  CHECK(urls.written("https://host/run") == "https://me:secret@host/run");
  CHECK(urls.written("https://host/run/step 1/a?b.pt") == "https://me:secret@host/run/step 1/a?b.pt");
  CHECK(urls.keep("https://store/x.pt?X-Amz-Signature=aa") == "https://store/x.pt");
  CHECK(urls.written("https://store/x.pt") == "https://store/x.pt?X-Amz-Signature=aa");
  CHECK(urls.written("https://store/y.pt") == "https://store/y.pt");
}

TEST_CASE("a password goes to the host that it was given for, and to no other") {
  WrittenUrls urls;
  urls.keep("https://me:secret@host/run");
  for (const char* other : {"https://else/run", "http://host/run", "https://host:81/run", "https://host.else/run"}) {
    CHECK(urls.written(other) == other);
  }
  urls.keep("https://you:word@host/runs/b");
  CHECK(urls.written("https://host/run/x") == "https://me:secret@host/run/x");
  CHECK(urls.written("https://host/runs/b/x") == "https://you:word@host/runs/b/x");
}

TEST_CASE("two URLs that differ in their queries alone are called differently, and each is asked for") {
  WrittenUrls urls;
  const std::string first = urls.keep("http://host/x.pt?version=1"), second = urls.keep("http://host/x.pt?version=2");
  CHECK(first != second);
  CHECK(urls.written(first) == "http://host/x.pt?version=1");
  CHECK(urls.written(second) == "http://host/x.pt?version=2");
  CHECK(urls.keep("http://host/x.pt?version=1") == first);
}

TEST_CASE("a plain URL and the same one with a secret are two objects, whichever is given first") {
  const std::string plain = "http://host/x.pt";
  for (const std::string other : {"http://host/x.pt?versionId=old", "http://me:secret@host/x.pt"}) {
    WrittenUrls plain_first, plain_second;
    CHECK(plain_first.keep(plain) == plain);
    CHECK(plain_first.written(plain_first.keep(other)) == other);
    CHECK(plain_first.written(plain) == plain);
    CHECK(plain_second.keep(other) == plain);
    CHECK(plain_second.written(plain_second.keep(plain)) == plain);
    CHECK(plain_second.written(plain) == other);
  }
}

TEST_CASE("a URL that was given without a password is asked for without that of another one") {
  WrittenUrls urls;
  urls.keep("http://me:secret@host/a.pt");
  urls.keep("http://host/run");
  CHECK(urls.written("http://host/run") == "http://host/run");
  CHECK(urls.written("http://host/run/step/b.pt") == "http://host/run/step/b.pt");
}

TEST_CASE("what keeps nothing from anybody is called as it was written") {
  WrittenUrls urls;
  for (const char* path : {"http://host/a@b.pt", "s3://bucket/a?b#c.pt", "run/a?b.pt", "--to", "", "https://host"}) {
    CHECK(urls.keep(path) == path);
    CHECK(urls.written(path) == path);
  }
}
