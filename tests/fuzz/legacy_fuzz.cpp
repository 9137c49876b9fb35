// Any bytes behind torch's magic number: opened as a legacy file, and all its values asked for.
#include <algorithm>
#include <cstdint>

#include "lib/base/error.hpp"
#include "lib/container/torch/legacy.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr NodeId most_seen = 4096;
  using namespace std::string_view_literals;
  Bytes image = test::bytes_of("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv);
  const ByteView bytes = std::as_bytes(std::span(data, size));
  image.insert(image.end(), bytes.begin(), bytes.end());
  try {
    const auto container = open_torch_legacy(std::make_shared<MemorySource>("fuzz", std::move(image)));
    const Tree& tree = container->tree();
    for (NodeId node = 0; node < std::min<std::size_t>(tree.size(), most_seen); ++node) {
      static_cast<void>(test::seen(tree, node));
    }
  } catch (const Error&) {
  }
  return 0;
}
