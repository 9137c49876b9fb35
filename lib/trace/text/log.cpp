#include "lib/trace/text/log.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/base/whole_number.hpp"
#include "lib/trace/text/doubtful_scale.hpp"
#include "lib/trace/text/scan.hpp"

namespace tare {

namespace {

constexpr std::size_t recent_most = 64;
constexpr std::size_t waiting_most = 256;
constexpr std::size_t open_most = 2000;
constexpr std::size_t lines_joined_most = 2;

std::optional<float> as_float(std::optional<double> value) {
  return value ? std::optional(static_cast<float>(*value)) : std::nullopt;
}

std::optional<std::uint64_t> as_count(std::optional<double> value) {
  constexpr double most = 1e15;
  if (!value || !(*value >= 0) || *value > most) return {};
  return static_cast<std::uint64_t>(*value);
}

std::optional<std::int64_t> as_step(std::optional<double> value) {
  return value ? whole_number(*value) : std::nullopt;
}

constexpr unsigned bit(Part part) {
  return part == Part::none ? 0 : 1U << static_cast<unsigned>(part);
}

constexpr unsigned closing_parts = bit(Part::attempt) | bit(Part::detected);

template <typename T>
bool agree(const std::optional<T>& a, const std::optional<T>& b) {
  return !a || !b || *a == *b;
}

template <typename T>
void fill(std::optional<T>& a, const std::optional<T>& b) {
  if (!a) a = b;
}

/// A message that a terminal's width has broken ends in the place that logged it: `  optimizer.py:218 step`.
std::string_view without_place(std::string_view line) {
  const std::size_t suffix = line.rfind(".py:");
  if (suffix != line.npos && line.size() - suffix < 40) {
    const std::size_t gap = line.rfind("  ", suffix);
    if (gap != line.npos) line = line.substr(0, gap);
  }
  while (!line.empty() && line.back() == ' ') line.remove_suffix(1);
  return line;
}

bool may_go_on(std::string_view line) {
  constexpr std::size_t widest = 400;
  if (line.size() > widest) return false;
  return line.find("verflow") != line.npos || line.find("OVERFLOW") != line.npos || line.find("kipping") != line.npos;
}

/// Of an epoch, or of nobody knows which of its steps.
bool is_of_epoch(const Facts& facts) {
  return facts.has(Fact::epoch) && !facts.has(Fact::step) && !facts.has(Fact::batch);
}

/// What is no power of two is a mean, where the line may be of many steps.
void tell_mean(TraceStep& step) {
  if (step.after && std::isfinite(*step.after) && !is_power_of_two(*step.after)) {
    step.smoothed = std::exchange(step.after, {});
  }
}

bool is_no_aside(const Facts& facts) {
  return facts.shape->meaning != Meaning::aside;
}

}  // namespace

void Log::read(Input& input) {
  if (input.slice().begin == 0 || path_ != input.path()) {
    flush_event();
    path_ = input.path();
    sure_kind_ = {};
    open_.clear();
    bars_.clear();
  }
  scan_lines(input, WhichLines::with_trigger, [this](const Line& line) { return take(line); },
             {input.slice().before, !open_.empty()});
  if (const std::string problem = input.problem(); !problem.empty()) {
    run_->warn("truncated", escaped(path_) + ": " + problem + ": what comes before is told");
  }
}

Log Log::in(Run& run) const {
  Log copy = *this;
  copy.run_ = &run;
  return copy;
}

void Log::finish() {
  flush_event();
  settle_numbering(Numbering::from_zero);
  flush_first();
  if (!has_ranks_ && copies_.ranks() > 1) run_->merge_copies(rankless_, copies_.ranks());
  if (tells_scale(run_->trace())) return;
  if (aside_.trace().steps.empty()) tell_lone_losses();
  run_->tell_without_scale(aside_);
  if (lone_.is_course()) return tell_late(lone_.steps(), &lone_);
  constexpr std::size_t least_of_epochs = 3;  // one may be a configuration
  if (of_epochs_.size() >= least_of_epochs) tell_late(of_epochs_, &of_epochs_);
}

bool Log::take(const Line& line) {
  const auto& found = matcher_.match(line);
  for (const Facts& facts : found) tell(facts);
  if (std::ranges::any_of(found, is_no_aside)) {
    open_.clear();
    return false;
  }
  if (!open_.empty() && !found.empty()) return stays_open();
  if (!open_.empty() && open_.size() < open_most) {
    const std::string_view text = without_place(line.text);
    open_.append(" ").append(text.substr(std::min(text.find_first_not_of(' '), text.size())));
    const Line whole{open_, line.number, line.teller, line.is_cut};
    for (const Facts& facts : matcher_.match(whole)) {
      if (!is_no_aside(facts)) continue;
      tell(facts);
      joined_ = lines_joined_most;
    }
    return stays_open();
  }
  open_.clear();
  if (!may_go_on(line.text)) return false;
  open_ = without_place(line.text);
  joined_ = 0;
  return true;
}

bool Log::stays_open() {
  if (++joined_ < lines_joined_most) return true;
  open_.clear();
  return false;
}

std::uint32_t Log::source_of(const LineShape& shape) {
  const bool is_own = shape.is_kind_sure || sure_kind_.empty();
  return run_->source(path_, is_own ? shape.kind : sure_kind_);
}

/// A name that may be of anything is a loss scale's from the first great power of two on, unless lines tell a surer
/// one.
bool Log::is_scale(const Facts& facts) {
  if (!facts.shape->is_doubtful) {
    has_sure_scale_ = has_sure_scale_ || !(is_of_losses(facts.shape->meaning) || is_of_epoch(facts));
    return true;
  }
  const double value = of_digits(facts.shape->digits, facts.get(Fact::printed).value_or(0));
  has_great_scale_ = has_great_scale_ || may_begin_as_scale(value);
  return may_go_on_as_scale(value) && has_great_scale_ && !has_sure_scale_;
}

void Log::tell(const Facts& facts) {
  if (facts.shape->is_lone) return tell_lone(facts);
  if (!is_scale(facts)) return tell_aside(facts);
  if (facts.shape->is_kind_sure && facts.shape->kind == "deepspeed-log") sure_kind_ = facts.shape->kind;
  switch (facts.shape->meaning) {
    case Meaning::event:
    case Meaning::death:
      return tell_event(facts);
    case Meaning::report:
      return tell_report(facts);
    case Meaning::moment:
      return tell_moment(facts);
    case Meaning::aside:
      return tell_aside(facts);
    case Meaning::end:
      flush_event();
      return warn_of(facts, "died");
    case Meaning::lost:
      return warn_of(facts, "loss-not-finite");
  }
}

void Log::warn_of(const Facts& facts, std::string_view code) {
  constexpr std::size_t most = 200;
  run_->warn(code, escaped(path_) + ":" + std::to_string(facts.line->number) + ": " +
                       escaped(facts.line->text.substr(0, most)));
}

/// Where no framework says: of a log that begins early in epoch 1 that is the first one.
std::int64_t Log::first_epoch(const LineShape& shape, std::int64_t epoch, std::int64_t step, std::int64_t per_epoch) {
  constexpr std::int64_t least_told = 10;  // of an epoch
  if (!shape.is_of_any_trainer) return shape.first_epoch;
  const bool is_early = step <= std::max<std::int64_t>(1, per_epoch / least_told);
  if (!first_epoch_) first_epoch_ = epoch == 1 && is_early ? epoch : shape.first_epoch;
  return *first_epoch_;
}

std::optional<std::int64_t> Log::number_in_epoch(std::int64_t epoch, std::int64_t step,
                                                 std::optional<std::int64_t> total) {
  const auto number = epochs_.number(epoch, step, total);
  is_resumed_ = !number && epochs_.has_fallen();
  return number;
}

/// Of so many, without an epoch.
std::optional<std::int64_t> Log::number_in_bar(const LineShape& shape, std::int64_t step, std::int64_t total) {
  constexpr std::size_t most_bars = 64;
  if (bars_.size() >= most_bars && !bars_.contains({&shape, total})) return step;
  BarClock& bar = bars_[{&shape, total}];
  const auto number = bar.number(step, total);
  is_resumed_ = bar.has_begun_anew();
  return number;
}

std::optional<std::int64_t> Log::number_of(const Facts& facts) {
  auto step = as_step(facts.get(Fact::step));
  if (!step && facts.shape->is_of_any_trainer) {
    if (facts.has(Fact::epoch)) step = as_step(facts.get(Fact::batch));
  } else if (!step && facts.has(Fact::batch)) {
    const int first = facts.shape->first_epoch;
    return facts.get(Fact::epoch).value_or(first) <= first ? as_step(facts.get(Fact::batch)) : std::nullopt;
  }
  const auto per_epoch = as_step(facts.get(Fact::per_epoch));
  const auto epoch = as_step(facts.get(Fact::epoch));
  const auto total = as_step(facts.get(Fact::total));
  if (step && epoch && !per_epoch) return number_in_epoch(*epoch, *step, total);
  if (step && per_epoch && facts.shape->is_of_any_trainer && !facts.has(Fact::epoch)) {
    return number_in_bar(*facts.shape, *step, *per_epoch);
  }
  if (!step || !epoch) return step;
  std::int64_t whole = 0, number = 0;
  if (__builtin_mul_overflow(*epoch - first_epoch(*facts.shape, *epoch, *step, *per_epoch), *per_epoch, &whole))
    return {};
  if (__builtin_add_overflow(whole, *step, &number)) return {};
  return number;
}

TraceStep Log::step_of(const Facts& facts) {
  is_resumed_ = false;
  TraceStep step{.step = number_of(facts), .line = facts.line->number};
  step.scale = facts.get(Fact::before);
  step.after = facts.get(Fact::after);
  if (const auto exponent = facts.get(Fact::exponent)) step.after = std::exp2(*exponent);
  if (const auto printed = facts.get(Fact::printed)) {
    (*printed < 1 && !is_power_of_two(*printed) ? step.smoothed : step.after) = printed;  // nan and inf are its own
  }
  if (const auto power = facts.get(Fact::power)) {
    (std::isfinite(*power) && !is_power_of_two(*power) ? step.smoothed : step.after) = power;
  }
  if (const auto smoothed = facts.get(Fact::smoothed)) step.smoothed = smoothed;
  if (step.scale) step.scale = of_digits(facts.shape->digits, *step.scale);
  if (step.after) step.after = of_digits(facts.shape->digits, *step.after);
  if (facts.has(Fact::ratio) && step.scale) step.after = *step.scale * *facts.get(Fact::ratio);
  if (facts.shape->holds && !step.after) step.after = step.scale;
  step.overflow = facts.shape->overflow;
  if (const auto overflow = facts.get(Fact::overflow)) step.overflow = *overflow != 0;
  step.loss = as_float(facts.get(Fact::loss));
  step.grad_norm = as_float(facts.get(Fact::grad_norm));
  step.nan = as_count(facts.get(Fact::nan));
  return step;
}

bool Log::is_copy(const Facts& facts, const TraceStep& step) {
  const std::uint32_t teller = facts.has(Fact::rank)
                                   ? 1 + static_cast<std::uint32_t>(as_count(facts.get(Fact::rank)).value_or(0))
                                   : facts.line->teller;
  if (teller == 0 || !step.step) return false;
  for (const Told& told : recent_) {
    if (told.step != *step.step || told.shape != facts.shape || told.teller == teller) continue;
    if (told.after != step.after) {
      run_->warn("ranks-disagree", escaped(path_) + ":" + std::to_string(step.line) +
                                       ": two ranks tell different scales of step " + std::to_string(*step.step));
    }
    return true;
  }
  recent_.push_back({*step.step, teller, facts.shape, step.after});
  if (recent_.size() > recent_most) recent_.pop_front();
  return false;
}

// ---- events

void Log::tell_event(const Facts& facts) {
  auto rank = facts.get(Fact::rank);
  if (!rank && facts.line->teller != 0) rank = -static_cast<double>(facts.line->teller);
  if (rank && facts.shape->meaning == Meaning::event) {
    if (!rank_) rank_ = rank;
    has_ranks_ = true;
    if (*rank != *rank_) return;
  }
  if (const auto scaler = facts.get(Fact::scaler)) {
    if (!scaler_) scaler_ = scaler;
    if (*scaler != *scaler_) {
      return run_->warn("several-scalers", escaped(path_) + ":" + std::to_string(facts.line->number) +
                                               ": overflows of another loss scaler: those of the first one are told");
    }
  }
  if (facts.shape->is_applied) {
    run_->warn("overflow-applied",
               escaped(path_) + ":" + std::to_string(facts.line->number) +
                   ": the weights are updated by steps that overflowed, too; as skipped they count all the same");
  }
  TraceStep step = step_of(facts);
  step.fatal = facts.shape->meaning == Meaning::death;
  if (step.fatal && (is_dead_ || (event_ && event_->step.fatal))) return;  // every rank dies of it, and says so twice
  if (facts.shape->part == Part::iteration) {
    if (numbering_ == Numbering::from_one && step.step) ++*step.step;
    if (numbering_ != Numbering::from_one) run_->trace().unit = facts.shape->unit;
  }
  const auto last = event_ && event_->step.step ? event_->step.step : run_->last();
  if (facts.shape->repeats_steps && step.step == last) step.step.reset();
  if (join(*facts.shape, step)) return;
  flush_event();
  event_ = Event{step, bit(facts.shape->part), facts.shape, rank.has_value(), std::exchange(losses_, 0)};
}

/// Some frameworks tell of one overflow in several lines, and every rank in all of them.
bool Log::join(const LineShape& shape, const TraceStep& step) {
  if (!event_ || shape.part == Part::none || event_->parts == 0 || event_->step.overflow != step.overflow) return false;
  TraceStep& whole = event_->step;
  // The number comes first: behind a line that ends an event, it is of the next one.
  const bool is_next = shape.part == Part::iteration && !whole.step && (event_->parts & closing_parts) != 0;
  if (is_next) return false;
  if (!agree(whole.step, step.step) || !agree(whole.scale, step.scale) || !agree(whole.after, step.after)) return false;
  const bool is_repeated = (event_->parts & bit(shape.part)) != 0;
  if (is_repeated && !whole.step) return false;  // nothing but a number tells a copy from the next step
  fill(whole.step, step.step);
  fill(whole.scale, step.scale);
  fill(whole.after, step.after);
  event_->parts |= bit(shape.part);
  if (shape.is_kind_sure) event_->shape = &shape;
  return true;
}

void Log::flush_event() {
  if (!event_) return;
  Event event = std::move(*event_);
  event_.reset();
  if (event.shape->is_told_again && has_moments_) return;
  is_dead_ = event.step.fatal;
  const bool counts = numbering_ == Numbering::unknown && (event.parts & bit(Part::iteration)) != 0;
  if (!counts && unnumbered_.empty()) return pass_on(std::move(event));
  unnumbered_.push_back(std::move(event));
  if (unnumbered_.size() > waiting_most) settle_numbering(Numbering::from_zero);
}

void Log::settle_numbering(Numbering numbering) {
  if (numbering_ != Numbering::unknown) return;
  const auto counts = [](const Event& event) { return (event.parts & bit(Part::iteration)) != 0; };
  const bool is_open = event_ && counts(*event_);
  if (numbering == Numbering::from_zero && unnumbered_.empty() && !is_open) return;
  numbering_ = numbering;
  const auto renumber = [&](Event& event) {
    if (numbering == Numbering::from_one && counts(event) && event.step.step) ++*event.step.step;
  };
  if (event_) renumber(*event_);
  for (Event& event : std::exchange(unnumbered_, {})) {
    renumber(event);
    pass_on(std::move(event));
  }
}

void Log::pass_on(Event event) {
  if (!first_) return add_event(event);
  waiting_.push_back(std::move(event));
  if (waiting_.size() > waiting_most) flush_first();
}

void Log::add_event(Event& event) {
  TraceStep& step = event.step;
  step.source = source_of(*event.shape);
  is_dead_ = step.fatal;
  if (!step.step && !step.fatal) step.apart = is_apart(event);
  if (step.fatal) events_ = 0;  // no report of this start comes any more
  if (step.overflow.value_or(false) && !step.fatal) ++events_;
  if (step.overflow.value_or(false) && !step.step && !step.fatal && !event.has_rank && (step.scale || step.after)) {
    copies_.add(step);
    if (std::find(rankless_.begin(), rankless_.end(), step.source) == rankless_.end()) rankless_.push_back(step.source);
  }
  run_->add(step, event.shape);
}

/// Of overflows without a number only what the log tells between them says whether they follow each other. How many
/// lines a step has nobody says: as many, at most, as lie between the two that are nearest to each other.
bool Log::is_apart(const Event& event) {
  constexpr std::uint64_t steps = 4;
  const std::uint64_t lines = event.losses_before;
  const bool apart = fewest_losses_ && lines > steps * (*fewest_losses_ + 1);
  if (has_events_) fewest_losses_ = std::min(fewest_losses_.value_or(lines), lines);
  has_events_ = true;
  return apart;
}

// ---- reports

void Log::tell_report(const Facts& facts) {
  Report report{step_of(facts), facts.shape, as_count(facts.get(Fact::skipped_total))};
  report.step.skipped = as_count(facts.get(Fact::skipped));
  if (!report.step.step || is_copy(facts, report.step)) return;
  const std::int64_t number = *report.step.step;
  if (numbering_ == Numbering::unknown) run_->trace().unit = facts.shape->unit;
  settle_numbering(Numbering::from_one);
  if (report.skipped_total && reports_ != nullptr && reports_ != facts.shape) return;  // the other reports say it all
  if (number == 0) {
    last_total_ = report.skipped_total;
    return;
  }
  run_->trace().unit = facts.shape->unit;
  if (reports_ != facts.shape) {
    if (first_ && first_->step.step == report.step.step) first_.reset();  // two frameworks, one step
    flush_first();
    reports_ = facts.shape;
    last_report_.reset();
  }
  const auto told = first_ ? first_->step.step : last_report_;
  if (told && number == *told) {
    const auto total = first_ ? first_->skipped_total : last_total_;
    if (!agree(total, report.skipped_total)) take_other_count(facts, number);
    return;
  }
  report_before_ = told;
  if (told && number < *told) {  // the run was resumed
    if (event_ && event_->step.fatal) flush_event();
    flush_first();
    run_->restart(number);
    last_report_.reset();
    last_total_.reset();
  }
  ReportClock& clock = clocks_.try_emplace(facts.shape, facts.shape->is_paced).first->second;
  if (first_) add_first(clock.span_of_first(*first_->step.step, number));
  report.event = std::exchange(event_, {});
  report.events = std::exchange(events_, 0);
  if (last_report_) {
    // What was counted since the report before is of all steps since then, though reports between them may be lost.
    const std::uint64_t span = clock.span_behind(*last_report_, number);
    add_report(report, report.skipped_total && last_total_ ? static_cast<std::uint64_t>(number - *last_report_) : span);
  } else if (clock.is_known()) {
    add_report(report, clock.span_of_first(number));
  } else {
    first_ = std::move(report);
  }
}

/// Two engines of DeepSpeed, an actor and a critic: each counts for itself, in the same words, and of each step. Of one
/// step alone it is the run itself, which was resumed from a checkpoint before that.
void Log::take_other_count(const Facts& facts, std::int64_t step) {
  const bool is_again = told_twice_ && told_twice_ == report_before_;
  told_twice_ = step;
  if (!is_again) return;
  run_->warn("mixed-scalers", escaped(path_) + ":" + std::to_string(facts.line->number) + ": step " +
                                  std::to_string(step) +
                                  " is told of twice, with different counts of skipped steps: two loss scalers write "
                                  "here, and nothing tells whose an overflow is");
}

void Log::flush_first() {
  if (!first_) return;
  // Of how many steps a report tells that no other follows, nothing says: an overflow in front of it may be of any.
  if (first_->event && first_->shape->is_paced && *first_->step.step > 1) {
    Event event = *std::exchange(first_->event, {});
    first_->events += event.step.overflow.value_or(false) ? 1 : 0;
    const std::uint64_t behind = events_;
    add_event(event);
    events_ = behind;
  }
  add_first(std::max<std::uint64_t>(first_->step.skipped.value_or(1), 1));
}

void Log::add_first(std::uint64_t span) {
  Report first = std::move(*first_);
  first_.reset();
  add_report(first, span);
  for (Event& event : std::exchange(waiting_, {})) add_event(event);
}

void Log::add_report(Report& report, std::uint64_t span) {
  is_dead_ = false;
  TraceStep& step = report.step;
  step.source = source_of(*report.shape);
  step.span = span;
  const bool is_start = *step.step <= static_cast<std::int64_t>(span);
  if (report.skipped_total) {
    const auto before = last_total_ ? last_total_ : is_start ? std::optional<std::uint64_t>(0) : std::nullopt;
    if (before && *before <= *report.skipped_total) step.skipped = *report.skipped_total - *before;
    last_total_ = report.skipped_total;
  }
  // A report that counts no skipped step is of a step behind it.
  const bool is_same = report.event && span == 1 && report.shape->is_paced && agree(report.event->step.step, step.step);
  if (is_same && report.event->step.overflow.value_or(false) && !report.event->step.fatal) {
    source_of(*report.event->shape);  // which tells of the step as well
    step.scale = report.event->step.scale;
    fill(step.after, report.event->step.after);
    step.skipped = 1;
  } else if (report.event) {
    if (report.event->step.fatal) report.events = 0;  // which are of the start that it ended
    if (report.event->step.overflow.value_or(false) && !report.event->step.fatal) ++report.events;
    const std::uint64_t behind = events_;
    add_event(*report.event);
    events_ = behind;
  }
  if (step.skipped && *step.skipped < report.events) step.skipped = std::min(report.events, span);
  if (step.skipped) {
    step.overflow = *step.skipped == 0      ? std::optional(false)
                    : *step.skipped >= span ? std::optional(true)
                                            : std::nullopt;
  }
  run_->add(step, report.shape);
  last_report_ = step.step;
}

// ---- moments

void Log::tell_moment(const Facts& facts) {
  TraceStep step = step_of(facts);
  if (is_of_epoch(facts)) return tell_of_epoch(facts, step);
  if (is_copy(facts, step)) return;
  has_moments_ = true;
  flush_event();
  settle_numbering(Numbering::from_zero);
  if (first_ && first_->step.step == step.step) return;
  if (reports_ != nullptr && reports_->unit == facts.shape->unit && step.step && step.step == last_report_) return;
  flush_first();
  is_dead_ = false;
  run_->trace().unit = facts.shape->unit;
  if (std::exchange(is_resumed_, false)) run_->restart();
  step.source = source_of(*facts.shape);
  if (const auto total = as_count(facts.get(Fact::skipped_total))) tell_skipped(step, *total);
  // fairseq's line of an epoch comes between two reports, and the later one covers what lies behind it.
  const bool is_among_reports = last_report_ && !reports_->is_paced && reports_->unit == facts.shape->unit;
  if (is_among_reports && step.step && *step.step > *last_report_) {
    step.span = static_cast<std::uint64_t>(*step.step - *last_report_);
    last_report_ = step.step;
  }
  run_->add(step, facts.shape);
}

/// Of a count since the run began the step behind the last one tells whether it was skipped itself.
void Log::tell_skipped(TraceStep& step, std::uint64_t total) {
  const std::int64_t next = run_->last() ? *run_->last() + 1 : 0;
  const auto before = run_->last() ? last_total_ : std::optional<std::uint64_t>(0);
  if (step.step == next && before && *before <= total) step.overflow = total > *before;
  last_total_ = total;
}

// ---- what has no step, or no scale

void Log::tell_lone(const Facts& facts) {
  TraceStep step = step_of(facts);
  if (step.loss) ++losses_;
  step.source = aside_.source(path_, facts.shape->kind);
  step.loss ? lone_losses_.take(facts.line->text, step) : lone_.take(facts.line->text, step);
}

void Log::tell_lone_losses() {
  for (const TraceStep& step : lone_losses_.steps()) aside_.add(step, &lone_losses_);
}

void Log::tell_of_epoch(const Facts& facts, TraceStep step) {
  tell_mean(step);
  step.source = aside_.source(path_, facts.shape->kind);
  of_epochs_.push_back(step);
}

void Log::tell_late(const TraceSteps& steps, const void* teller) {
  const std::vector<TraceSource> sources = aside_.trace().sources;
  for (TraceStep step : steps) {
    const TraceSource& source = sources[step.source];
    step.source = run_->source(source.path, source.kind);
    run_->add(step, teller);
  }
}

void Log::tell_aside(const Facts& facts) {
  TraceStep step = step_of(facts);
  const bool tells_some = step.loss || step.grad_norm;
  if (step.loss) ++losses_;
  if (!tells_some || (facts.has(Fact::step) && !as_step(facts.get(Fact::step)))) return;
  step.source = aside_.source(path_, facts.shape->kind);
  aside_.add(step, facts.shape);
}

}  // namespace tare
