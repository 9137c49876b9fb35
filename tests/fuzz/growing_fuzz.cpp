// Any bytes as a file that grows while it is watched: read piece by piece it tells what it tells when it has stopped.
// The last byte says how often it is looked at before, those in front of it how much was there then.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "tests/unit/trace/in_pieces.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t count = std::min<std::size_t>(data[size - 1] % 8, size - 1);
  const std::string text(reinterpret_cast<const char*>(data), size - 1 - count);
  std::vector<std::size_t> looks;
  for (std::size_t i = 0; i < count; ++i) looks.push_back(text.size() * data[size - 2 - i] / 256);
  std::sort(looks.begin(), looks.end());
  try {
    const MemoryFiles files({{"log", text}});
    const TraceOptions options{.tag = {}, .files = &files, .standard_input = {}};
    const RunFile file = run_file(Input("log", options), options);
    if (!grows(file.kind)) return 0;
    if (told_in_pieces(file, text, looks) != told_in_pieces(file, text, {})) std::abort();
  } catch (const Error&) {
    // A refusal is an answer.
  }
  return 0;
}
