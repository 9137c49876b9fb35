// Any bytes as a MindSpore checkpoint: every parameter described, small ones read and changed.
#include <cstdint>

#include "lib/base/error.hpp"
#include "lib/container/mindspore/mindspore.hpp"

using namespace tare;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes = std::as_bytes(std::span(data, size));
  try {
    const auto container = open_mindspore(std::make_shared<MemorySource>("fuzz", Bytes(bytes.begin(), bytes.end())));
    const Tree& tree = container->tree();
    for (NodeId node = 0; node < tree.size(); ++node) {
      static_cast<void>(tree.value(node, 64));
      if (tree.kind(node) != Kind::tensor) continue;
      try {
        const NodeChange change{node, 1.0, "fuzz"};
        static_cast<void>(container->change({&change, 1}));
      } catch (const Error&) {
        // No single number: an answer.
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
