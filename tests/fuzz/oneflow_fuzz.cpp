// Any bytes as the description and the elements of one OneFlow variable: read where it is small, changed, read again.
#include <algorithm>
#include <cstdint>

#include "lib/base/error.hpp"
#include "lib/container/oneflow/variable.hpp"
#include "tests/fuzz/two_files.hpp"

using namespace tare;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const ByteView bytes = std::as_bytes(std::span(data + 1, size - 1));
  const std::size_t split = std::min<std::size_t>(data[0], bytes.size());
  const TwoFiles files(oneflow_description_of("v"), Bytes(bytes.begin(), bytes.begin() + static_cast<long>(split)),
                       Bytes(bytes.begin() + static_cast<long>(split), bytes.end()));
  try {
    const auto container = open_file_variables("fuzz", {read_oneflow_variable(files, "v")}, {});
    const Tree& tree = container->tree();
    static_cast<void>(tree.value(tree.root, 64));
    const NodeChange change{tree.root, 1.0, "fuzz"};
    static_cast<void>(container->change({&change, 1}));
  } catch (const Error&) {
  }
  return 0;
}
