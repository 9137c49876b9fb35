#include "lib/base/sha256.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

std::string digest(Sha256Blocks blocks, std::string_view text, std::size_t piece) {
  Sha256 sum(blocks);
  for (std::size_t at = 0; at < text.size(); at += piece) sum.add(as_bytes(text.substr(at, piece)));
  return sum.finish();
}

}  // namespace

// Digests: the examples of FIPS 180-4, and Python's hashlib for the others.
TEST_CASE(
    "SHA-256 gives the standard's digests, in whatever pieces the bytes come, portably and by the CPU's instructions") {
  const std::pair<std::string, const char*> examples[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {std::string(55, 'x'), "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072"},
      {std::string(64, 'x'), "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c"},
      {std::string(1'000'000, 'a'), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };
  for (const Sha256Blocks blocks : {&sha256_blocks_portable, sha256_blocks_of_cpu()}) {
    if (blocks == nullptr) continue;
    for (const auto& [text, wanted] : examples) {
      for (const std::size_t piece : {1U, 63U, 64U, 65U, 1000U, 1'000'000U}) {
        if (text.size() == 1'000'000 && piece == 1) continue;
        CHECK(digest(blocks, text, piece) == wanted);
      }
    }
  }
}
