
#include <algorithm>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;

namespace {

constexpr const char* ancient = "torch/tar-era/ancient.pt";
constexpr std::ptrdiff_t size_at = 124;  ///< of the first member's header

}  // namespace

TEST_CASE("a tar archive of torch before 0.2 shows its object, and is not changed") {
  const auto container = open_image(corpus_bytes(ancient));
  CHECK(container->format() == "torch_tar");
  CHECK(container->findings().empty());
  const Tree& tree = container->tree();
  const NodeId scale = tree.find(tree.root, "loss_scale");
  CHECK(tree.value(scale, 1).as_double() == 128);
  CHECK(tree.value(tree.find(tree.root, "epoch"), 1).as_double() == 4);
  CHECK(tree.value(tree.find(tree.root, "weight"), 1).number() == nullptr);
  const NodeChange change{scale, 64.0, "loss_scale"};
  CHECK_THROWS_WITH(container->change({&change, 1}), Catch::Contains("only read"));
}

TEST_CASE("a tar archive that torch did not write, or not whole, is told as such") {
  Bytes other = corpus_bytes(ancient);
  other[0] = std::byte{'S'};  // Storages
  CHECK_THROWS_WITH(open_image(other), Catch::Contains("looks like a tar archive"));
  Bytes cut = corpus_bytes(ancient);
  cut.resize(600);
  CHECK_THROWS_WITH(open_image(cut), Catch::Contains("looks like a tar archive"));
}

TEST_CASE("a tar member whose size is no number, or passes the end, is refused with its place") {
  for (const char* size : {"77777777777", "12x        ", "           "}) {
    Bytes image = corpus_bytes(ancient);
    std::transform(size, size + 11, image.begin() + size_at, [](char c) { return static_cast<std::byte>(c); });
    CHECK_THROWS_WITH(open_image(image), Catch::Contains("the tar member at 0 has no size that fits"));
  }
}
