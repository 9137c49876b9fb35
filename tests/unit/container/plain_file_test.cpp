// A pickle that grows in a file without a directory: what stands behind it, tensors' elements too, moves in the same
// splice.
#include "lib/container/pickle/write/plain_file.hpp"

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;

TEST_CASE("a value that grows and an element behind it change at once, up to 32 MiB apart and no further") {
  const std::string pickle = "\x80\2K\1.";
  constexpr std::size_t most = limits::max_tensor_read_bytes;
  constexpr std::size_t changed_end = 3;  // K becomes M and another byte: what follows is the same
  for (const std::size_t distance : {std::size_t{8}, most, most + 1}) {
    INFO(distance << " bytes up to the element's end");
    Bytes old = bytes_of(pickle);
    old.resize(changed_end + distance);
    const MemorySource source("legacy.pt", old);
    const Span element{old.size() - 4, 4};
    PickleRewrite rewrite;
    rewrite.pickle = bytes_of("\x80\2M\1\1.");
    rewrite.elements = {{element, bytes_of("abcd"), "scale"}};
    FileChange change;
    const auto make = [&] { change = change_plain_file(source, 0, bytes_of(pickle), rewrite, "n"); };
    CHECK(status_of(make) == (distance > most ? Status::refused : Status::ok));
    if (distance > most) continue;
    const Bytes after = applied(old, change);
    CHECK(after.size() == old.size() + 1);
    CHECK(as_text(after).starts_with("\x80\2M\1\1."));
    CHECK(as_text(after).ends_with("abcd"));
  }
}
