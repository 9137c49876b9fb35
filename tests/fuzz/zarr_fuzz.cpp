// Any bytes as the document and the chunk of a zarr array: what is read of them is written again, and reads the same.
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/error.hpp"
#include "lib/container/orbax/zarr.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tare;
  constexpr std::size_t prefix = 2;
  if (size < prefix) return 0;
  const ByteView bytes = std::as_bytes(std::span(data, size));
  const ByteView rest = bytes.subspan(prefix);
  const std::size_t split = std::min<std::size_t>(load_le<std::uint16_t>(bytes.data()), rest.size());
  for (const std::string_view document : {zarr2_document, zarr3_document}) {
    try {
      const ZarrArray array = zarr_array(rest.first(split), document, "fuzzed");
      const Bytes elements = zarr_elements(array, rest.subspan(split), "fuzzed");
      if (zarr_elements(array, zarr_chunk(array, elements), "fuzzed") != elements) __builtin_trap();
    } catch (const Error&) {
      continue;
    }
  }
  return 0;
}
