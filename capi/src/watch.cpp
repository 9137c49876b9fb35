#include <chrono>
#include <cmath>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "capi/src/guard.hpp"
#include "capi/src/handles.hpp"
#include "capi/src/options.hpp"
#include "capi/src/run_options.hpp"
#include "lib/base/error.hpp"
#include "lib/report/watch.hpp"
#include "lib/watch/changes.hpp"

using namespace tare;
using namespace tare::capi;

namespace {

/// Nothing but a change, or the end of the time, ends the waiting.
constexpr int no_stop = -1;

WatchOptions options_of(const char* json) {
  WatchOptions options;
  Journals journals;
  std::int64_t settle = options.settle.count();
  take_options(json, "the options",
               {{"thresholds", into_thresholds(options.thresholds)},
                {"tag", &options.trace.tag},
                {"settle", &settle},
                {"state_folder", &journals.state_folder}});
  constexpr std::int64_t longest = 86'400;
  if (settle < 0 || settle > longest) {
    throw Error(Status::invalid_argument, "\"settle\" is " + std::to_string(settle), "seconds: 0 to 86400");
  }
  options.settle = std::chrono::seconds(settle);
  options.open = [scope_of = journals.scopes_for_reading()](const std::string& path) {
    return open_settled(path, {}, scope_of).checkpoint;
  };
  return options;
}

}  // namespace

struct tare_watch {
  Tag<0x74617741> tag = {};
  std::string run;  ///< the first path, which names the run in metrics
  Watch watch;
  Changes changes{false, no_stop};
  bool has_looked = false;
  std::time_t changed_at = std::time(nullptr);

  tare_watch(std::vector<std::string> paths, WatchOptions options)
      : run(paths.front()), watch(std::move(paths), std::move(options)) {}

  /// Whether files may have come, gone or been renamed by the time that it returns.
  bool wait(std::chrono::milliseconds most) {
    if (changes.polls() || watch.waits()) return !changes.rest(most);
    const Changes::Seen seen = changes.wait(most);
    return seen.is_moved || !seen.is_changed;
  }

  std::string look(std::chrono::milliseconds most) {
    const bool walks = !has_looked || wait(most);
    if (walks) changes.follow(watch.folders());  // before it is looked at: what comes meanwhile is told
    const std::uint64_t steps = watch.status().steps;
    std::string lines;
    for (const WatchEvent& event : watch.look(walks)) lines += watch_line(event, watch_time());
    if (!lines.empty() || watch.status().steps != steps) changed_at = std::time(nullptr);
    has_looked = true;
    return lines;
  }
};

int32_t tare_watch_create(tare_watch** out, const char* const* paths, uint64_t path_count, const char* options_json,
                          tare_error* error) {
  return guard_making(out, error,
                      [&] { return new tare_watch(paths_of(paths, path_count), options_of(options_json)); });
}

int32_t tare_watch_look(tare_text** out, tare_watch* watch, double seconds, tare_error* error) {
  return guard_making(out, error, [&] {
    constexpr double longest = 86'400;
    if (!(seconds >= 0) || seconds > longest) {
      throw Error(Status::invalid_argument, "seconds is " + float_text(seconds), "0 to 86400; 0 looks at once");
    }
    return new_text(live(watch, "watch").look(std::chrono::milliseconds(std::llround(seconds * 1000))));
  });
}

int32_t tare_watch_status(tare_text** out, const tare_watch* watch, tare_error* error) {
  return guard_making(out, error, [&] {
    require(watch, "watch");
    return new_text(watch_line(watch->watch.status(), "stands", {}, watch_time()));
  });
}

int32_t tare_watch_metrics(tare_text** out, const tare_watch* watch, tare_error* error) {
  return guard_making(out, error, [&] {
    require(watch, "watch");
    return new_text(watch_metrics(watch->watch.status(), watch->run, static_cast<double>(watch->changed_at)));
  });
}

void tare_watch_destroy(tare_watch* watch) {
  destroy(watch);
}
