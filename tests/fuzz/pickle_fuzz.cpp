// Any bytes as a pickle: read, and all its values asked for.
#include <algorithm>
#include <cstdint>

#include "lib/base/error.hpp"
#include "lib/container/pickle/read/pickle.hpp"
#include "lib/container/pickle/read/tensor.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;

namespace {

/// Names, tensors and arrays have a note in the place of their size.
std::uint64_t known_end(const Tree& tree, NodeId node) {
  const Kind kind = tree.kind(node);
  const bool has_size = kind != Kind::name && kind != Kind::tensor && kind != Kind::array;
  return has_size ? tree.span(node).end() : tree.span(node).offset;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr NodeId most_seen = 4096;
  const ByteView bytes = std::as_bytes(std::span(data, size));
  try {
    Pickle pickle = read_pickle(std::make_shared<const Bytes>(bytes.begin(), bytes.end()), "fuzz");
    pickle.tree.install(std::make_shared<PickleTensors>(pickle.tree, nullptr));
    if (pickle.end > size) __builtin_trap();
    for (NodeId node = 0; node < std::min<std::size_t>(pickle.tree.size(), most_seen); ++node) {
      if (known_end(pickle.tree, node) > size) __builtin_trap();
      static_cast<void>(test::seen(pickle.tree, node));
    }
  } catch (const Error&) {
  }
  return 0;
}
