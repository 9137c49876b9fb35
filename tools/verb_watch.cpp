#include <fcntl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/open_metrics.hpp"
#include "lib/base/own_content.hpp"
#include "lib/base/text.hpp"
#include "lib/codec/new_file.hpp"
#include "lib/report/unfinished.hpp"
#include "lib/report/watch.hpp"
#include "lib/watch/changes.hpp"
#include "tools/journals.hpp"
#include "tools/network.hpp"
#include "tools/open.hpp"
#include "tools/render.hpp"
#include "tools/render_watch.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Even where nothing is said to change, so long: what is written through a mapping is not said.
constexpr seconds longest_wait{30};
/// The metrics are written anew, so that their age tells that somebody watches.
constexpr seconds metrics_every{30};

struct WatchVerbOptions {
  std::vector<std::string> paths, thresholds;
  std::string tag, metrics, json_lines;
  std::string fail_on = "error";
  std::int64_t interval = 2, settle = 5;
  bool json = false, polls = false, once = false;
};

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// Signals that end the watching, as something to wait for. One that was ignored before stays so.
class EndingSignals {
 public:
  EndingSignals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      if (!is_ignored(signal)) sigaddset(&set, signal);  // one that is blocked would come all the same
    }
    sigprocmask(SIG_BLOCK, &set, nullptr);
    descriptor_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (descriptor_ < 0) throw_io("signals", errno);
  }
  ~EndingSignals() { ::close(descriptor_); }
  EndingSignals(const EndingSignals&) = delete;
  EndingSignals& operator=(const EndingSignals&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Whether one has come, now or before.
  [[nodiscard]] bool have_come() {
    signalfd_siginfo signal{};
    has_come_ = has_come_ || ::read(descriptor_, &signal, sizeof signal) == sizeof signal;
    return has_come_;
  }

 private:
  int descriptor_;
  bool has_come_ = false;
};

/// Where what happens goes: to the terminal, into a file of lines, into a file of metrics.
class Teller {
 public:
  Teller(const Terminal& terminal, const WatchVerbOptions& options) : terminal_(terminal), options_(options) {
    if (options.json_lines.empty()) return;
    lines_ = ::open(options.json_lines.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
    if (lines_ < 0) throw_io(options.json_lines, errno);
  }
  ~Teller() {
    if (lines_ >= 0) ::close(lines_);
  }
  Teller(const Teller&) = delete;
  Teller& operator=(const Teller&) = delete;

  void tell(const std::vector<WatchEvent>& events, const RunStatus& status) {
    for (const WatchEvent& event : events) {
      put(watch_line(event, watch_time()), [&] { return render_watch(terminal_, event); });
    }
    if (!events.empty() || status.steps != steps_) changed_ = std::time(nullptr);
    steps_ = status.steps;
    write_metrics(status);
  }

  /// `what`: "begins", "ends".
  void tell(const RunStatus& status, std::string_view what, std::string_view why) {
    put(watch_line(status, what, why, watch_time()), [&] { return render_status(terminal_, status); });
    written_ = {};
    write_metrics(status);
  }

 private:
  template <class Render>
  void put(const std::string& line, const Render& render) {
    terminal_.answer(options_.json ? line : render());
    if (lines_ < 0) return;
    const std::string added = (ends_within_line(options_.json_lines) ? "\n" : "") + line;
    if (::write(lines_, added.data(), added.size()) != static_cast<ssize_t>(added.size())) {
      warn("lines", options_.json_lines + ": cannot be written");
    }
  }

  /// Whoever reads it sees the old or the new one. A full disk is no reason to stop watching.
  void write_metrics(const RunStatus& status) {
    if (options_.metrics.empty()) return;
    const bool is_due = changed_ != changed_written_ || Clock::now() - written_ > metrics_every;
    if (!is_due && written_ != Clock::time_point{}) return;
    const std::string run = status.diagnosis.targets.front();
    try {
      write_whole_file(options_.metrics, as_bytes(watch_metrics(status, run, static_cast<double>(changed_))));
    } catch (const Error& error) {
      if (!has_written_) throw;
      warn("metrics", error.what());
    }
    has_written_ = true;
    written_ = Clock::now();
    changed_written_ = changed_;
  }

  void warn(const std::string& about, const std::string& text) {
    if (warned_ == about) return;
    warned_ = about;
    terminal_.say("warning: " + escaped(text));
  }

  const Terminal& terminal_;
  const WatchVerbOptions& options_;
  int lines_ = -1;
  std::uint64_t steps_ = 0;
  std::time_t changed_ = std::time(nullptr), changed_written_ = 0;
  Clock::time_point written_ = {};
  bool has_written_ = false;
  std::string warned_;
};

WatchOptions watch_options(const Terminal& terminal, const WatchVerbOptions& options, EndingSignals& signals) {
  WatchOptions given;
  for (const std::string& assignment : options.thresholds) set_threshold(given.thresholds, assignment);
  given.trace.tag = options.tag;
  given.trace.files = &local_files();
  given.settle = seconds(options.settle);
  given.is_stopped = [&signals] { return signals.have_come(); };
  given.open = [&terminal](const std::string& path) { return open_for_reading(terminal, path, {}).checkpoint; };
  for (const std::string* path : {&options.metrics, &options.json_lines}) {
    if (!path->empty()) given.own_files.push_back(*path);
  }
  return given;
}

bool is_failed(const WatchVerbOptions& options, const RunStatus& status) {
  if (options.fail_on == "never") return false;
  return has_finding(status.diagnosis, options.fail_on == "warning" ? Severity::warning : Severity::error);
}

/// Until something changes, or time is up for what nobody tells.
Changes::Seen wait(Changes& changes, const Watch& watch, const WatchVerbOptions& options, milliseconds look) {
  const milliseconds interval = rest_behind(look, seconds(options.interval));
  if (changes.rest(interval)) return {.is_stopped = true};
  Changes::Seen seen;
  if (!changes.polls() && !watch.waits()) seen = changes.wait(std::max<milliseconds>(longest_wait, interval));
  seen.is_moved = seen.is_moved || !seen.is_changed;
  return seen;
}

/// Whoever looks once is told how the run stands; checkpoints that settle meanwhile are part of it.
bool is_of_course(const WatchEvent& event) {
  using enum WatchEvent::What;
  return event.what == scale || event.what == restart || event.what == checkpoint;
}

int follow(const WatchVerbOptions& options, Watch& watch, Teller& teller, EndingSignals& signals,
           const Terminal& terminal) {
  Changes changes(options.polls, signals.descriptor());
  InterruptedEdits interrupted;
  bool has_said = false;
  bool walks = true;
  for (bool is_first = true;; is_first = false) {
    // Watched before it is looked at: what comes meanwhile is told.
    if (walks) changes.follow(watch.folders());
    if (!std::exchange(has_said, has_said || !changes.why_polls().empty()) && !changes.why_polls().empty()) {
      terminal.note("note: looks every " + std::to_string(options.interval) + " s: " + changes.why_polls());
    }
    const Clock::time_point began = Clock::now();
    std::vector<WatchEvent> events = watch.look(walks);
    if (options.once) std::erase_if(events, is_of_course);
    if (walks) {
      const auto unfinished = unfinished_below(options.paths, scope_for_reading);
      std::ranges::move(interrupted.news_of(unfinished), std::back_inserter(events));
    }
    teller.tell(events, watch.status());
    const bool is_stopped = signals.have_come();
    const bool has_failed = is_failed(options, watch.status());
    if (has_failed || is_stopped || (options.once && !watch.settles())) {
      teller.tell(watch.status(), "ends", has_failed ? "finding" : is_stopped ? "signal" : "once");
      return has_failed ? exit_no : exit_done;
    }
    if (is_first && !options.once) teller.tell(watch.status(), "begins", {});
    const auto look = std::chrono::duration_cast<milliseconds>(Clock::now() - began);
    walks = wait(changes, watch, options, look).is_moved || signals.have_come();
  }
}

/// Two names of one file, or of one that will be.
bool is_same(const std::string& path, const std::string& other) {
  std::error_code error;
  return path == other || std::filesystem::equivalent(path, other, error);
}

/// What a slip of the hand names (a log, a checkpoint, the PATH behind an option that was left without its value) is
/// neither replaced nor appended to.
void require_own_file(const WatchVerbOptions& options, const std::string& path, std::string_view beginning,
                      std::string_view content) {
  if (path.empty()) return;
  if (std::ranges::any_of(options.paths, [&](const std::string& watched) { return is_same(path, watched); })) {
    throw Error(Status::refused, path + ": is what is watched", "name another file to write to");
  }
  require_own_content(path, beginning, content);
}

void require_own_files(const WatchVerbOptions& options) {
  require_own_file(options, options.metrics, OpenMetrics::beginning, "tare's metrics");
  require_own_file(options, options.json_lines, watch_line_beginning, "lines of tare watch");
  if (!options.metrics.empty() && is_same(options.metrics, options.json_lines)) {
    throw Error(Status::refused, options.metrics + ": is to hold metrics and lines", "name two files");
  }
}

int watch(const Terminal& terminal, const WatchVerbOptions& options) {
  for (const std::string& path : options.paths) require_local(path);
  require_own_files(options);
  EndingSignals signals;
  Watch watch(options.paths, watch_options(terminal, options, signals));
  Teller teller(terminal, options);
  return follow(options, watch, teller, signals, terminal);
}

}  // namespace

Verb watch_verb() {
  auto options = std::make_shared<WatchVerbOptions>();
  constexpr int longest = 86'400;
  return {
      .name = "watch",
      .purpose = "Follow a run that is under way: tell what changes, and what goes wrong",
      .options =
          {{"PATH", &options->paths, "The run's folder, or its logs and event files", Presence::required},
           {"--fail-on",
            OneOf{"SEVERITY",
                  {"error", "warning", "never"},
                  [options](const std::string& word) { options->fail_on = word; }},
            "End with exit 1 at a finding that is that grave: error (unless said otherwise), warning or never"},
           {"--metrics", &options->metrics,
            "Write how the run stands to a file, as OpenMetrics has it; one that holds anything else is refused"},
           {"--json-lines", &options->json_lines,
            "Append what happens to a file, a line of JSON each; one that holds anything else is refused"},
           {"--json", &options->json, "Tell what happens in lines of JSON (schema tare.watch/1)"},
           {"--interval", Within{1, longest, [options](std::int64_t value) { options->interval = value; }},
            "Seconds between two looks at least; 2 unless said otherwise"},
           {"--settle", Within{0, longest, [options](std::int64_t value) { options->settle = value; }},
            "Seconds that a checkpoint must be left alone before it is read; 5 unless said otherwise"},
           {"--poll", &options->polls, "Look every so often, and do not trust the kernel to tell of changes"},
           {"--once", &options->once, "Look once, as a timer has it, and end"},
           {"--threshold", &options->thresholds,
            "NAME=NUMBER: where a rule draws its line, as doctor --rules lists them"},
           {"--tag", &options->tag, "The series that is the scale, where there are several"}},
      .closing_words =
          "Logs are read as they grow, through rotation, truncation and restarts; network file systems are polled.\n"
          "SIGINT, SIGTERM and SIGHUP end it with exit 0, but for those that were ignored when it began (nohup).\n"
          "Examples:\n"
          "  tare watch run\n"
          "  tare watch run --metrics /var/lib/node_exporter/run.prom --fail-on never\n"
          "  tare watch run --fail-on warning        for a script that stops the trainer then",
      .run = [options](const Terminal& t) { return watch(t, *options); },
  };
}
