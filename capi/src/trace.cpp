#include <memory>
#include <string>
#include <vector>

#include "capi/src/guard.hpp"
#include "capi/src/handles.hpp"
#include "lib/base/error.hpp"
#include "lib/codec/json.hpp"
#include "lib/report/trace.hpp"

using namespace tare;
using namespace tare::capi;

int32_t tare_trace_read(tare_text** out, const char* const* paths, uint64_t path_count, const char* options_json,
                        tare_error* error) {
  return guard_making(out, error, [&] {
    require(paths, "paths");
    if (path_count == 0) throw Error(Status::invalid_argument, "path_count is 0", "give one path at least");
    std::vector<std::string> given;
    for (uint64_t i = 0; i < path_count; ++i) {
      require(paths[i], "paths[i]");
      given.emplace_back(paths[i]);
    }
    TraceOptions options;
    if (options_json != nullptr && *options_json != '\0') {
      for (const auto& [key, value] : members_of_json(options_json, "the options")) {
        const auto* text = std::get_if<std::string>(&value);
        if (key != "tag" || text == nullptr) {
          throw Error(Status::invalid_argument, "the options have no \"" + key + "\" of that kind",
                      "Options: tag (a name)");
        }
        options.tag = *text;
      }
    }
    std::string answer;
    write_trace_json(read_trace(given, options), [&](std::string_view piece) { answer += piece; });
    return new_text(std::move(answer));
  });
}
