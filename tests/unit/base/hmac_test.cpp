#include "lib/base/hmac.hpp"

#include <string>

#include "tests/catch.hpp"

namespace tare::test {
namespace {

std::string hmac(ByteView key, ByteView text) {
  HmacSha256 hmac(key);
  hmac.add(text);
  std::string hex;
  for (const std::byte byte : hmac.finish()) {
    hex += "0123456789abcdef"[std::to_integer<int>(byte) / 16];
    hex += "0123456789abcdef"[std::to_integer<int>(byte) % 16];
  }
  return hex;
}

// RFC 4231, test cases 1, 2 and 6.
TEST_CASE("HMAC-SHA256 gives the digests of RFC 4231") {
  CHECK(hmac(Bytes(20, std::byte{0x0b}), as_bytes(std::string("Hi There"))) ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hmac(as_bytes(std::string("Jefe")), as_bytes(std::string("what do ya want for nothing?"))) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(hmac(Bytes(131, std::byte{0xaa}),
             as_bytes(std::string("Test Using Larger Than Block-Size Key - Hash Key First"))) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("digests are the same only where every byte is") {
  Sha256Digest a{};
  Sha256Digest b{};
  CHECK(same_digest(a, b));
  b.back() = std::byte{1};
  CHECK_FALSE(same_digest(a, b));
}

}  // namespace
}  // namespace tare::test
