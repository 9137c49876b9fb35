#include <string>
#include <vector>

#include "capi/src/guard.hpp"
#include "capi/src/handles.hpp"
#include "capi/src/options.hpp"
#include "capi/src/run_options.hpp"
#include "lib/report/trace.hpp"
#include "lib/report/unfinished.hpp"

using namespace tare;
using namespace tare::capi;

int32_t tare_trace_read(tare_text** out, const char* const* paths, uint64_t path_count, const char* options_json,
                        tare_error* error) {
  return guard_making(out, error, [&] {
    const std::vector<std::string> given = paths_of(paths, path_count);
    TraceOptions options;
    Journals journals;
    take_options(options_json, "the options", {{"tag", &options.tag}, journals.place()});
    const Trace trace = read_trace(given, options);
    std::string answer;
    write_trace_json(trace, unfinished_of(trace, journals.scopes_for_reading()),
                     [&](std::string_view piece) { answer += piece; });
    return new_text(std::move(answer));
  });
}
