#include "lib/trace/together.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "lib/base/about_equal.hpp"
#include "lib/base/text.hpp"
#include "lib/trace/run.hpp"

namespace tare {

namespace {

/// Of sources that contradict the frame in more steps than this share, nothing is taken.
constexpr std::size_t one_in = 20;

/// How much a trace tells: of several that tell of one run the richest is the frame.
std::size_t facts_in(const Trace& trace) {
  std::size_t facts = 0;
  for (const TraceStep& step : trace.steps) {
    facts += std::size_t{step.scale.has_value()} + std::size_t{step.after.has_value()} +
             std::size_t{step.overflow.has_value()} + 1;
  }
  return facts;
}

std::string names_of(const Trace& trace) {
  std::string names;
  for (const TraceSource& source : trace.sources) {
    if (!names.empty()) names += ", ";
    names += escaped(source.path) + (source.tag.empty() ? "" : " (" + escaped(source.tag) + ")");
    constexpr std::size_t enough = 200;
    if (names.size() > enough) return names + " ...";
  }
  return names;
}

std::string place_of(const Trace& trace, const TraceStep& step) {
  const std::string path = step.source < trace.sources.size() ? escaped(trace.sources[step.source].path) : "?";
  return step.line == 0 ? path : fmt::format("{}:{}", path, step.line);
}

bool is_kept(const Trace& trace, const TraceStep& step) {
  if (!step.step || step.segment >= trace.segments.size()) return false;
  const auto& kept = trace.segments[step.segment].kept;
  return kept && *step.step <= *kept;
}

/// Walks the steps with a number that no later start of the run overwrote: their numbers only rise.
class KeptSteps {
 public:
  KeptSteps(const Trace& trace, std::int64_t shift)
      : trace_(trace), shift_(shift), at_(trace.steps.begin()), end_(trace.steps.end()) {
    settle();
  }

  [[nodiscard]] bool is_done() const { return at_ == end_; }
  [[nodiscard]] const TraceStep& step() const { return *at_; }
  /// As the frame counts.
  [[nodiscard]] std::int64_t number() const { return *at_->step + shift_; }
  void next() {
    ++at_;
    settle();
  }

 private:
  void settle() {
    while (!is_done() && !is_kept(trace_, *at_)) ++at_;
  }

  const Trace& trace_;
  std::int64_t shift_;
  TraceSteps::Iterator at_, end_;
};

/// Both printed as some decimals of a float32.
bool is_same(double a, double b) {
  return about_equal(a, b, 1e-5) || (std::isnan(a) && std::isnan(b));
}

/// The scales that both tell of one moment; nothing where they tell none.
std::optional<std::pair<double, double>> same_moment(const TraceStep& a, const TraceStep& b) {
  if (a.after && b.after) return std::pair(*a.after, *b.after);
  const bool are_single = a.span == 1 && b.span == 1;
  if (are_single && a.scale && b.scale) return std::pair(*a.scale, *b.scale);
  return std::nullopt;
}

struct Agreement {
  std::size_t agreed = 0, contradicted = 0;
  std::string first;  ///< contradiction
  std::int64_t shift = 0;

  [[nodiscard]] bool is_trusted() const { return contradicted * one_in <= agreed + contradicted; }
};

Agreement agreement_of(const Trace& frame, const Trace& other, std::int64_t shift) {
  Agreement found;
  found.shift = shift;
  KeptSteps theirs(other, shift);
  for (KeptSteps own(frame, 0); !own.is_done() && !theirs.is_done(); own.next()) {
    while (!theirs.is_done() && theirs.number() < own.number()) theirs.next();
    if (theirs.is_done() || theirs.number() != own.number()) continue;
    const auto scales = same_moment(own.step(), theirs.step());
    if (!scales) continue;
    if (is_same(scales->first, scales->second)) {
      ++found.agreed;
    } else if (found.contradicted++ == 0) {
      found.first =
          fmt::format("of step {} {} tells a scale of {}, and {} one of {}", own.number(), place_of(frame, own.step()),
                      float_text(scales->first), place_of(other, theirs.step()), float_text(scales->second));
    }
  }
  return found;
}

/// Some count steps from 0, and others from 1.
Agreement best_agreement(const Trace& frame, const Trace& other) {
  Agreement best = agreement_of(frame, other, 0);
  for (const std::int64_t shift : {-1, 1}) {
    if (best.contradicted == 0) break;
    Agreement shifted = agreement_of(frame, other, shift);
    if (shifted.contradicted < best.contradicted && shifted.agreed > 0) best = std::move(shifted);
  }
  return best;
}

// ---- taking over what the frame lacks

/// `told` covers the step, and may cover others.
void fill(TraceStep& step, const TraceStep& told, bool is_own_number, bool has_fallen) {
  if (step.span != 1) return;
  const bool says_clean = told.overflow == false;
  if (!step.overflow && told.overflow && !(says_clean && has_fallen)) step.overflow = told.overflow;
  if (!is_own_number) return;
  if (!step.after) step.after = told.after;
  if (!step.loss) step.loss = told.loss;
  if (!step.grad_norm) step.grad_norm = told.grad_norm;
  if (told.span == 1 && !step.scale) step.scale = told.scale;
}

class Joiner {
 public:
  Joiner(Trace& frame, const Trace& other, std::int64_t shift) : frame_(frame), other_(other), theirs_(other, shift) {}

  /// How many steps it took over.
  std::size_t join() {
    const auto first = edge([](const TraceSegment& segment) { return segment.first; }, true);
    const auto last = edge([](const TraceSegment& segment) { return segment.kept; }, false);
    for (; first && !theirs_.is_done() && theirs_.number() < *first; theirs_.next()) take(0);
    std::optional<double> scale;
    for (TraceStep step : frame_.steps) {
      if (is_kept(frame_, step)) {
        while (!theirs_.is_done() && theirs_.number() < *step.step) theirs_.next();
        const bool has_fallen = scale && step.after && *step.after < *scale;
        const bool is_covered = !theirs_.is_done() && begin_of_theirs() < *step.step;
        if (is_covered) fill(step, theirs_.step(), theirs_.number() == *step.step, has_fallen);
        scale = step.after ? step.after : scale;
      }
      joined_.push_back(step);
    }
    const auto segment = static_cast<std::uint32_t>(frame_.segments.empty() ? 0 : frame_.segments.size() - 1);
    for (; last && !theirs_.is_done(); theirs_.next()) {
      if (begin_of_theirs() >= *last) take(segment);
    }
    end_with_exception(segment);
    frame_.steps = std::move(joined_);
    return taken_;
  }

 private:
  template <class Of>
  std::optional<std::int64_t> edge(const Of& of, bool is_least) const {
    std::optional<std::int64_t> found;
    for (const TraceSegment& segment : frame_.segments) {
      const std::optional<std::int64_t> here = of(segment);
      if (here && (!found || (is_least ? *here < *found : *here > *found))) found = here;
    }
    return found;
  }

  /// The step in front of those that theirs covers.
  [[nodiscard]] std::int64_t begin_of_theirs() const {
    return theirs_.number() - static_cast<std::int64_t>(theirs_.step().span);
  }

  void take(std::uint32_t segment) {
    TraceStep step = theirs_.step();
    step.step = theirs_.number();
    put(step, segment);
    TraceSegment& into = frame_.segments[segment];
    if (!into.first || *step.step < *into.first) into.first = step.step;
    if (!into.last || *step.step > *into.last) into.last = step.step;
    if (!into.kept || *step.step > *into.kept) into.kept = step.step;
    ++taken_;
  }

  void end_with_exception(std::uint32_t segment) {
    std::optional<TraceStep> end;
    for (const TraceStep& step : other_.steps) end = step;
    if (!end || !end->fatal || end->step || frame_.segments.empty()) return;
    put(*end, segment);
  }

  void put(TraceStep step, std::uint32_t segment) {
    const TraceSource& source = other_.sources[step.source];
    const auto known = std::ranges::find_if(frame_.sources, [&](const TraceSource& own) {
      return own.path == source.path && own.kind == source.kind && own.tag == source.tag;
    });
    step.source = static_cast<std::uint32_t>(known - frame_.sources.begin());
    if (known == frame_.sources.end()) frame_.sources.push_back(source);
    step.segment = segment;
    joined_.push_back(step);
  }

  Trace& frame_;
  const Trace& other_;
  KeptSteps theirs_;
  TraceSteps joined_;
  std::size_t taken_ = 0;
};

// ---- what is said of it

void put_together(Trace& frame, const Trace& other) {
  const std::string names = names_of(other);
  if (frame.unit != other.unit) {
    frame.warnings.push_back({"other-source", fmt::format("{}: tells of {} steps, too, and counts by {}, not by {}: "
                                                          "they are left out",
                                                          names, other.steps.size(), other.unit, frame.unit)});
    return;
  }
  const Agreement agreement = best_agreement(frame, other);
  if (agreement.contradicted > 0) {
    const std::string more =
        agreement.contradicted == 1 ? "" : fmt::format(" (and {} more)", agreement.contradicted - 1);
    frame.warnings.push_back({"sources-disagree", agreement.first + more});
  }
  if (!agreement.is_trusted()) {
    frame.warnings.push_back({"other-source", fmt::format("{}: tells of {} steps, too, and contradicts: they are left "
                                                          "out, as of another run",
                                                          names, other.steps.size())});
    return;
  }
  const std::size_t taken = Joiner(frame, other, agreement.shift).join();
  const std::string compared = agreement.agreed > 0
                                   ? fmt::format("{} agree", agreement.agreed)
                                   : std::string(
                                         "none has a scale that is told elsewhere, so that it is of this run is taken "
                                         "on trust");
  frame.warnings.push_back(
      {"other-source", fmt::format("{}: tells of {} steps, too; {}{}", names, other.steps.size(), compared,
                                   taken == 0 ? "" : fmt::format(", and {} were told of here alone", taken))});
}

/// What the frame tells of the steps at which there are checkpoints, and of their neighbours.
std::map<std::int64_t, std::vector<double>> scales_near(const Trace& frame, const Trace& saved) {
  std::map<std::int64_t, std::vector<double>> scales;
  for (const TraceCheckpoint& checkpoint : saved.checkpoints) {
    for (std::int64_t near = -1; near <= 1 && checkpoint.step; ++near) scales[*checkpoint.step + near];
  }
  for (const TraceStep& step : frame.steps) {
    if (!step.step) continue;
    const auto found = scales.find(*step.step);
    if (found == scales.end()) continue;
    if (step.after) found->second.push_back(*step.after);
    if (step.scale) found->second.push_back(*step.scale);
  }
  return scales;
}

bool is_held(const TraceCheckpoint& checkpoint, double told) {
  const auto is_told = [&](double scale) { return is_same(told, scale); };
  return is_told(checkpoint.scale().value_or(told)) || std::ranges::any_of(checkpoint.other_scales, is_told);
}

/// A checkpoint holds what its step left. Where counters begin differs: its neighbours may tell the same.
void compare_checkpoints(Trace& frame, const Trace& saved) {
  if (frame.unit != "step" || saved.checkpoints.empty()) return;
  const auto scales = scales_near(frame, saved);
  for (const TraceCheckpoint& checkpoint : saved.checkpoints) {
    const auto scale = checkpoint.scale();
    if (!checkpoint.step || !scale || scales.at(*checkpoint.step).empty()) continue;
    bool is_told = false;
    for (std::int64_t near = -1; near <= 1; ++near) {
      is_told = is_told || std::ranges::any_of(scales.at(*checkpoint.step + near),
                                               [&](double told) { return is_held(checkpoint, told); });
    }
    if (is_told) continue;
    frame.warnings.push_back(
        {"sources-disagree", fmt::format("{} holds a scale of {}, and of its step, {}, {} tells one of {}",
                                         escaped(checkpoint.path), float_text(*scale), *checkpoint.step,
                                         names_of(frame), float_text(scales.at(*checkpoint.step).front()))});
    return;
  }
}

}  // namespace

Trace told_together(std::vector<Trace> traces, Trace saved) {
  std::vector<std::pair<std::size_t, Trace*>> by_facts;
  std::vector<TraceWarning> others;
  for (Trace& trace : traces) {
    if (const std::size_t facts = facts_in(trace); facts > 0) {
      by_facts.emplace_back(facts, &trace);
    } else {
      others.insert(others.end(), trace.warnings.begin(), trace.warnings.end());
    }
  }
  std::ranges::stable_sort(by_facts, std::ranges::greater(), [](const auto& told) { return told.first; });
  Trace frame;
  for (const auto& [facts, trace] : by_facts) {
    if (frame.steps.empty()) {
      frame = std::move(*trace);
    } else {
      put_together(frame, *trace);
    }
  }
  if (frame.steps.empty()) {
    frame = std::move(saved);
    const auto longest = std::ranges::max_element(traces, {}, [](const Trace& t) { return t.without_scale.size(); });
    if (longest != traces.end()) tell_without_scale(frame, longest->without_scale, longest->sources);
  } else {
    if (by_facts.size() > 1 && tells_scale(frame)) frame.without_scale = {};
    compare_checkpoints(frame, saved);
    frame.checkpoints = std::move(saved.checkpoints);
    frame.without_scaler = std::move(saved.without_scaler);
    std::ranges::copy_if(saved.warnings, std::back_inserter(frame.warnings),
                         [](const TraceWarning& warning) { return warning.code.ends_with("-not-read"); });
  }
  frame.warnings.insert(frame.warnings.end(), others.begin(), others.end());
  if (frame.steps.empty()) {
    frame.warnings.push_back(
        {"no-scale",
         "nothing here tells of a loss scale: many trainers (Hugging Face Trainer without DeepSpeed, "
         "accelerate, Lightning, mmengine, timm) print none unless asked; print \"step N loss_scale X\", X from "
         "scaler.get_scale()"});
  }
  return frame;
}

}  // namespace tare
