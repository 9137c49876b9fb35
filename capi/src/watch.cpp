#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "capi/src/guard.hpp"
#include "capi/src/handles.hpp"
#include "capi/src/options.hpp"
#include "capi/src/run_options.hpp"
#include "lib/base/error.hpp"
#include "lib/report/unfinished.hpp"
#include "lib/report/watch.hpp"
#include "lib/watch/changes.hpp"

using namespace tare;
using namespace tare::capi;

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Nothing but a change, or the end of the time, ends the waiting.
constexpr int no_stop = -1;

struct Watched {
  std::vector<std::string> paths = {};
  WatchOptions options = {};
  ScopeOf scope_of = {};  ///< to look for edits that are not finished
};

Watched watched_of(std::vector<std::string> paths, const char* json) {
  WatchOptions options;
  Journals journals;
  std::int64_t settle = options.settle.count();
  take_options(json, "the options",
               {{"thresholds", into_thresholds(options.thresholds)},
                {"tag", &options.trace.tag},
                {"settle", &settle},
                journals.place()});
  constexpr std::int64_t longest = 86'400;
  if (settle < 0 || settle > longest) {
    throw Error(Status::invalid_argument, "\"settle\" is " + std::to_string(settle), "seconds: 0 to 86400");
  }
  options.settle = seconds(settle);
  const ScopeOf scope_of = journals.scopes_for_reading();
  options.open = [scope_of](const std::string& path) { return open_settled(path, {}, scope_of).checkpoint; };
  return {std::move(paths), std::move(options), scope_of};
}

}  // namespace

struct tare_watch {
  Tag<0x74617741> tag = {};
  std::vector<std::string> paths;  ///< the first names the run in metrics
  ScopeOf scope_of;
  Watch watch;
  InterruptedEdits interrupted = {};
  Changes changes{false, no_stop};
  bool has_looked = false;
  std::time_t changed_at = std::time(nullptr);
  milliseconds last_look{0};

  explicit tare_watch(Watched given)
      : paths(given.paths),
        scope_of(std::move(given.scope_of)),
        watch(std::move(given.paths), std::move(given.options)) {}

  /// Until something changes, or it is time to look at what nobody tells of, or `most` is up.
  Changes::Seen wait(milliseconds most) {
    const milliseconds pause = std::min(most, rest_behind(last_look, seconds(1)));
    if (changes.polls()) return {.is_stopped = changes.rest(pause)};
    return changes.wait(watch.waits() ? pause : most);
  }

  /// Whether it told anything.
  bool look_once(bool walks, std::string& lines) {
    const Clock::time_point began = Clock::now();
    if (walks) changes.follow(watch.folders());  // before it is looked at: what comes meanwhile is told
    const std::uint64_t steps = watch.status().steps;
    std::vector<WatchEvent> events = watch.look(walks);
    if (walks) std::ranges::move(interrupted.news_of(unfinished_below(paths, scope_of)), std::back_inserter(events));
    for (const WatchEvent& event : events) lines += watch_line(event, watch_time());
    const bool is_news = !lines.empty() || watch.status().steps != steps;
    if (is_news) changed_at = std::time(nullptr);
    last_look = std::chrono::duration_cast<milliseconds>(Clock::now() - began);
    return is_news;
  }

  std::string look(milliseconds most) {
    std::string lines;
    if (!has_looked) {
      look_once(true, lines);
      has_looked = true;
      return lines;
    }
    const Clock::time_point end = Clock::now() + most;
    for (;;) {
      const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
      const Changes::Seen seen = wait(std::max(left, milliseconds(0)));
      const bool is_news = look_once(seen.is_moved || !seen.is_changed, lines);
      if (is_news || seen.is_changed || Clock::now() >= end) return lines;
    }
  }
};

int32_t tare_watch_create(tare_watch** out, const char* const* paths, uint64_t path_count, const char* options_json,
                          tare_error* error) {
  return guard_making(out, error,
                      [&] { return new tare_watch(watched_of(paths_of(paths, path_count), options_json)); });
}

int32_t tare_watch_look(tare_text** out, tare_watch* watch, double seconds, tare_error* error) {
  return guard_making(out, error, [&] {
    constexpr double longest = 86'400;
    if (!(seconds >= 0) || seconds > longest) {
      throw Error(Status::invalid_argument, "seconds is " + float_text(seconds), "0 to 86400; 0 looks at once");
    }
    return new_text(live(watch, "watch").look(milliseconds(std::llround(seconds * 1000))));
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
    return new_text(watch_metrics(watch->watch.status(), watch->paths.front(), static_cast<double>(watch->changed_at)));
  });
}

void tare_watch_destroy(tare_watch* watch) {
  destroy(watch);
}
