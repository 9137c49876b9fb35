// A run's logs -> its steps: which lines tell of the same step, how many steps a line covers, which are copies.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/trace/epoch_clock.hpp"
#include "lib/trace/input.hpp"
#include "lib/trace/run.hpp"
#include "lib/trace/text/bar_clock.hpp"
#include "lib/trace/text/copies.hpp"
#include "lib/trace/text/lone_losses.hpp"
#include "lib/trace/text/lone_scales.hpp"
#include "lib/trace/text/match.hpp"
#include "lib/trace/text/report_clock.hpp"

namespace tare {

class Log {
 public:
  /// `run` is borrowed.
  explicit Log(Run& run) : run_(&run) {}

  /// One file of the run, or one more slice of it, behind what came before.
  void read(Input& input);
  /// The same log so far, which goes on in `run`, a copy of the one that it filled.
  [[nodiscard]] Log in(Run& run) const;
  /// What waits for a line behind it that does not come.
  void finish();

 private:
  /// An overflow, or a growth, as far as the lines of it that came have told.
  struct Event {
    TraceStep step;
    unsigned parts = 0;  ///< a bit for each Part
    const LineShape* shape = nullptr;
    bool has_rank = false;
    std::uint64_t losses_before = 0;  ///< lines since the one before
  };
  struct Report {
    TraceStep step;
    const LineShape* shape = nullptr;
    std::optional<std::uint64_t> skipped_total;
    std::uint64_t events = 0;         ///< overflows told one by one since the report before
    std::optional<Event> event = {};  ///< in the line before it: of the same step, if the report covers one
  };
  /// Where "overflow on iteration N" counts from: reports beside it count from 1, and it is then told as they are.
  enum class Numbering : std::uint8_t { unknown, from_zero, from_one };
  struct Told {
    std::int64_t step;
    std::uint32_t teller;
    const LineShape* shape;
    std::optional<double> after;
  };

  bool take(const Line& line);
  void tell(const Facts& facts);
  void tell_event(const Facts& facts);
  void tell_report(const Facts& facts);
  void tell_moment(const Facts& facts);
  bool stays_open();
  bool is_scale(const Facts& facts);
  void tell_lone(const Facts& facts);
  void tell_of_epoch(const Facts& facts, TraceStep step);
  /// Steps whose sources are those of `aside_`.
  void tell_late(const TraceSteps& steps, const void* teller);
  void tell_lone_losses();
  void tell_aside(const Facts& facts);
  void warn_of(const Facts& facts, std::string_view code);
  void take_other_count(const Facts& facts, std::int64_t step);
  void tell_skipped(TraceStep& step, std::uint64_t total);
  [[nodiscard]] TraceStep step_of(const Facts& facts);
  [[nodiscard]] std::optional<std::int64_t> number_of(const Facts& facts);
  std::optional<std::int64_t> number_in_epoch(std::int64_t epoch, std::int64_t step, std::optional<std::int64_t> total);
  std::optional<std::int64_t> number_in_bar(const LineShape& shape, std::int64_t step, std::int64_t total);
  std::int64_t first_epoch(const LineShape& shape, std::int64_t epoch, std::int64_t step, std::int64_t per_epoch);
  std::uint32_t source_of(const LineShape& shape);
  [[nodiscard]] bool is_copy(const Facts& facts, const TraceStep& step);
  bool join(const LineShape& shape, const TraceStep& step);
  void flush_event();
  void settle_numbering(Numbering numbering);
  void pass_on(Event event);
  void add_event(Event& event);
  [[nodiscard]] bool is_apart(const Event& event);
  void flush_first();
  void add_first(std::uint64_t span);
  void add_report(Report& report, std::uint64_t span);

  Run* run_;
  Run aside_;  ///< what is told where no step has a scale
  LoneScales lone_;
  TraceSteps of_epochs_;  ///< told of an epoch, or of unknown steps of it: the run's where nothing else tells a scale
  LoneLosses lone_losses_;
  Matcher matcher_;
  std::string path_;
  std::string_view sure_kind_;  ///< of shapes whose kind is not sure, in this file

  std::string open_;  ///< a message that may go on in the next line
  std::size_t joined_ = 0;

  std::optional<Event> event_;
  std::optional<Report> first_;  ///< of a segment: the next report tells what it covers
  std::vector<Event> waiting_;   ///< behind it
  std::map<const LineShape*, ReportClock> clocks_;
  EpochClock epochs_;
  std::map<std::pair<const LineShape*, std::int64_t>, BarClock> bars_;  ///< of the file, by how many there are
  std::optional<std::int64_t> first_epoch_;                             ///< where no framework says
  bool is_resumed_ = false;                  ///< at the last step, which has no number that would show it
  const LineShape* reports_ = nullptr;       ///< the shape whose reports are followed
  std::optional<std::int64_t> last_report_;  ///< of the segment
  std::optional<std::uint64_t> last_total_;
  std::optional<std::int64_t> report_before_;  ///< the last one
  std::optional<std::int64_t> told_twice_;     ///< the last report of which there were two, with different counts
  std::uint64_t events_ = 0;                   ///< overflows told one by one since the last report
  std::uint64_t losses_ = 0;                   ///< lines that told one since the last event
  std::optional<std::uint64_t> fewest_losses_;
  bool has_events_ = false;
  bool has_moments_ = false;
  bool has_great_scale_ = false, has_sure_scale_ = false;
  bool is_dead_ = false;  ///< what was told last is the exception that ended the run
  Numbering numbering_ = Numbering::unknown;
  std::vector<Event> unnumbered_;  ///< events from the first whose iteration counts from nobody knows where
  std::optional<double> rank_, scaler_;
  std::deque<Told> recent_;

  Copies copies_;
  std::vector<std::uint32_t> rankless_;  ///< sources of events that tell no rank
  bool has_ranks_ = false;
};

}  // namespace tare
