// Any bytes as a file that a run left: a trace, or a refusal. The content picks the reader.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "lib/base/error.hpp"
#include "lib/report/trace.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const Trace trace = trace_of({{"file", std::string(reinterpret_cast<const char*>(data), size)}});
    std::size_t steps = 0;
    for (const TraceStep& step : trace.steps) {
      if (step.segment >= trace.segments.size() || step.source >= trace.sources.size()) std::abort();
      ++steps;
    }
    if (steps != trace.steps.size()) std::abort();
    write_trace_json(trace, {}, [](std::string_view) {});
  } catch (const Error&) {
    // A refusal is an answer.
  }
  return 0;
}
