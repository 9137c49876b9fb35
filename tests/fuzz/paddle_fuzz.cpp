// Any bytes as a file of one Paddle variable: described, read where it is small, and changed.
#include <cstdint>

#include "lib/base/error.hpp"
#include "lib/container/paddle/variables.hpp"

using namespace tare;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes = std::as_bytes(std::span(data, size));
  try {
    const auto source = std::make_shared<MemorySource>("fuzz", Bytes(bytes.begin(), bytes.end()));
    const auto container = open_paddle_variable(source);
    const Tree& tree = container->tree();
    static_cast<void>(tree.value(tree.root, 64));
    const NodeChange change{tree.root, 1.0, "fuzz"};
    static_cast<void>(container->change({&change, 1}));
  } catch (const Error&) {
  }
  return 0;
}
