// Any bytes as a file of one format, TARE_FUZZ_OPEN: every small value read; the first numbers changed, each for
// itself, and what a fresh read makes of the result.
#include <cstdint>

#include "lib/base/error.hpp"
#include "lib/container/hdf5/hdf5.hpp"
#include "lib/container/json/json.hpp"
#include "lib/container/msgpack/msgpack.hpp"
#include "lib/container/numpy/npy.hpp"
#include "lib/container/torch/tar.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;

namespace {

constexpr std::size_t most_changes = 8;
constexpr std::uint64_t most_elements = 64;

std::unique_ptr<Container> open_bytes(const Bytes& bytes) {
  return TARE_FUZZ_OPEN(std::make_shared<MemorySource>("fuzz", bytes));
}

/// One number changed: the file still opens, with as many values.
void change(const Bytes& image, const Container& container, NodeId node) {
  const NodeChange change{node, 1.0, "a value"};
  FileChange made;
  try {
    made = container.change({&change, 1});
  } catch (const Error&) {
    return;  // refused
  }
  if (open_bytes(test::applied(image, made))->tree().size() != container.tree().size()) __builtin_trap();
}

bool is_number(const Tree& tree, NodeId node) {
  try {
    return tree.value(node, most_elements).number() != nullptr;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes = std::as_bytes(std::span(data, size));
  const Bytes image(bytes.begin(), bytes.end());
  std::unique_ptr<Container> container;
  try {
    container = open_bytes(image);
  } catch (const Error&) {
    return 0;
  }
  std::size_t changes = 0;
  for (NodeId node = 0; node < container->tree().size(); ++node) {
    const Kind kind = container->tree().kind(node);
    if (!is_number(container->tree(), node) || (kind != Kind::tensor && kind != Kind::array)) continue;
    if (changes++ < most_changes) change(image, *container, node);
  }
  return 0;
}
