// Any bytes as a file that grows while it is watched: read piece by piece it tells what it tells when it has stopped.
// The last byte says how often it is looked at before, those in front of it how much was there then.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/report/trace.hpp"
#include "lib/trace/files.hpp"
#include "lib/trace/input.hpp"
#include "lib/trace/run_reader.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;

namespace {

/// Takes what has come since `read`, and moves that on.
void read_on(RunReader& reader, const RunFile& file, const std::string& there, Slice& read) {
  const auto bytes = as_bytes(there);
  const auto source = std::make_shared<MemorySource>(file.path, Bytes(bytes.begin(), bytes.end()));
  for (;;) {
    const WholePart part = whole_part(file.kind, *source, read.end);
    if (part.end == read.end) return;
    if (part.end < read.end || part.end > there.size()) std::abort();
    Input input(file.path, source, {read.end, part.end, read.before});
    read = {read.end, part.end, read.before + part.count};
    reader.read(file, input);
  }
}

std::string told(const RunFile& file, const std::string& text, const std::vector<std::size_t>& looks) {
  RunReader reader(file.kind, {});
  Slice read;
  for (const std::size_t there : looks) {
    read_on(reader, file, text.substr(0, there), read);
    (void)reader.so_far();
  }
  read_on(reader, file, text, read);
  std::string json;
  write_trace_json(reader.finish(), [&](std::string_view piece) { json += piece; });
  return json;
}

}  // namespace

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
    if (file.kind == RunFileKind::none || file.kind == RunFileKind::database) return 0;
    if (told(file, text, looks) != told(file, text, {})) std::abort();
  } catch (const Error&) {
    // A refusal is an answer.
  }
  return 0;
}
