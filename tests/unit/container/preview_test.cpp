#include "lib/container/preview.hpp"

#include "lib/base/error.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

Bytes bytes(std::string_view text) {
  return {as_bytes(text).begin(), as_bytes(text).end()};
}

std::string seen(const FileChange& change) {
  const PreviewSource preview(std::make_shared<MemorySource>("f", bytes("0123456789")), change);
  const std::string whole(as_text(preview.read(Span{0, preview.size()})));
  // Every part, read alone, must be the same part of the whole.
  for (std::uint64_t from = 0; from <= whole.size(); ++from) {
    for (std::uint64_t size = 0; from + size <= whole.size(); ++size) {
      REQUIRE(as_text(preview.read(Span{from, size})) == whole.substr(from, size));
    }
  }
  REQUIRE_THROWS_AS(preview.read(Span{whole.size(), 1}), Error);
  return whole;
}

}  // namespace

TEST_CASE("a view shows patches and what is appended, whichever part is read") {
  FileChange change;
  change.patches = {{2, bytes("23"), bytes("ab"), ""}, {9, bytes("9"), bytes("z"), ""}};
  CHECK(seen(change) == "01ab45678z");
  change.append = Append{10, bytes("body"), bytes("end"), ""};
  CHECK(seen(change) == "01ab45678zbodyend");
}

TEST_CASE("a view shows a splice that grows, shrinks or stands at an edge") {
  FileChange change;
  change.splice = Splice{3, bytes("34"), bytes("abcd"), ""};
  CHECK(seen(change) == "012abcd56789");
  change.splice = Splice{0, bytes("0123"), bytes("x"), ""};
  CHECK(seen(change) == "x456789");
  change.splice = Splice{8, bytes("89"), bytes("abc"), ""};
  CHECK(seen(change) == "01234567abc");
}
