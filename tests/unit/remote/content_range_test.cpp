#include "lib/remote/content_range.hpp"
#include "tests/catch.hpp"

using namespace tare;

TEST_CASE("what a server says that it sends is a range within the object") {
  const auto part = parse_content_range("bytes 512-1023/4395236853");
  REQUIRE(part);
  CHECK(part->range == Span{512, 512});
  CHECK(part->total == 4395236853);
  const auto none = parse_content_range("bytes */512");
  REQUIRE(none);
  CHECK(none->range == Span{0, 0});
  CHECK(none->total == 512);
  const auto unsized = parse_content_range("bytes 512-1023/*");
  REQUIRE(unsized);
  CHECK(unsized->range == Span{512, 512});
  CHECK_FALSE(unsized->total);
}

TEST_CASE("any other words of a server about its range are not understood") {
  for (const char* wrong : {"", "bytes", "bytes 0-511", "bytes */*", "bytes 0-511/* ", "bytes 511-0/512",
                            "bytes 0-512/512", "bytes -5-9/10", "bytes 0-18446744073709551615/18446744073709551616",
                            "bytes 0-9223372036854775807/9223372036854775808",
                            "bytes 18446744073709551615-18446744073709551615/5", "octets 0-1/2", "bytes 0-1/2, 4-5/6",
                            "bytes 0-1/2 ", "bytes  0-1/2", "bytes=0-1/2", "bytes 0x0-1/2", "bytes 1.0-2/3"}) {
    INFO(wrong);
    CHECK_FALSE(parse_content_range(wrong));
  }
}
