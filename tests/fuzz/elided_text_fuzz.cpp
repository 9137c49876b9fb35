// Any bytes as a pickle of which arguments of four bytes or more are left out: each byte that is kept is that of the
// file, but for lengths that became 0, and the places in the file only grow.
#include <cstdint>

#include "lib/base/error.hpp"
#include "lib/container/pickle/read/elided_text.hpp"

using namespace tare;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes = std::as_bytes(std::span(data, size));
  const MemorySource source("fuzz", Bytes(bytes.begin(), bytes.end()));
  try {
    const ElidedText elided(source, 0, {.most_whole = 0, .left_out_from = 4});
    std::uint64_t least = 0;
    for (std::uint64_t i = 0; i < elided.text()->size(); ++i) {
      const std::uint64_t place = elided.in_file(i);
      const std::byte kept = (*elided.text())[i];
      if (place < least || place >= size || (kept != bytes[place] && kept != std::byte{0})) __builtin_trap();
      least = place + 1;
    }
  } catch (const Error&) {
  }
  return 0;
}
