#include "lib/trace/series/series.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>

#include "lib/base/text.hpp"

namespace tare {

namespace {

constexpr std::size_t longest_name = 512;

std::string unit_of(std::string_view tag, std::string_view path) {
  if (tag.starts_with("Train/Samples/") || tag.ends_with(" vs samples")) return "sample";
  const std::size_t slash = path.rfind('/');
  const std::string_view file = slash == path.npos ? path : path.substr(slash + 1);
  return file.starts_with("Train_Samples_") ? "sample" : "step";
}

/// Without what counts told as if they were flags.
TraceSteps without_overflows(const TraceSteps& steps) {
  TraceSteps others;
  for (TraceStep step : steps) {
    step.overflow.reset();
    others.push_back(step);
  }
  return others;
}

std::optional<std::int64_t> run_number(const SeriesRow& row, EpochClock& epochs) {
  return row.step && row.epoch ? epochs.number(*row.epoch, *row.step, {}) : row.step;
}

void tell_losses(const SeriesRow& row, TraceStep& step) {
  if (row.loss) step.loss = static_cast<float>(*row.loss);
  if (row.grad_norm) step.grad_norm = static_cast<float>(*row.grad_norm);
}

}  // namespace

void Series::open(const std::string& path) {
  if (path == path_) return;
  flush_first();
  path_ = path;
  const auto known = files_.find(path);
  is_settled_ = known != files_.end() && known->second.kind;
  if (is_settled_) std::tie(kind_, is_smoothed_) = *known->second.kind;
}

void Series::settle(std::string_view kind, bool is_smoothed) {
  kind_ = kind;
  is_smoothed_ = is_smoothed;
  is_settled_ = true;
  files_[path_].kind.emplace(kind, is_smoothed);
}

void Series::broken(std::string_view what, std::uint64_t line) {
  File& file = files_[path_];
  if (file.broken++ == 0) file.first_broken = line;
  file.no = what;
}

Key Series::key(std::string_view name) const {
  Key key = key_of(name);
  if (!tag_.empty() && name == tag_) {
    key.role = KeyRole::scale;
    key.is_doubtful = false;
  }
  if (!tag_.empty() && name != tag_ && key.role == KeyRole::scale) key.role = KeyRole::none;
  return key;
}

void Series::Numbers::add(double value) {
  has_other = has_other || (value != 0 && value != 1);
  has_one = has_one || value == 1;
  has_fallen = has_fallen || value < last;
  last = value;
}

bool Series::has_counts() const {
  return std::ranges::any_of(numbers_, [](const auto& series) {
    const auto& [name, numbers] = series;
    const bool is_of_steps = !name.ends_with("skipped") || name.ends_with("step_skipped");
    return numbers.has_other || (!is_of_steps && numbers.may_be_sum());
  });
}

Series::Candidate& Series::candidate_at(std::size_t index) {
  return *std::next(candidates_.begin(), static_cast<std::ptrdiff_t>(index));
}

Series::Candidate* Series::candidate(std::string_view name, const Key& key, std::size_t& index) {
  const auto known = indices_.find(name);
  if (known != indices_.end()) {
    index = known->second;
    return &candidate_at(index);
  }
  if (candidates_.size() == candidates_most || name.size() > longest_name) return nullptr;
  index = candidates_.size();
  indices_.emplace(name, index);
  candidates_.push_back({std::string(name), key, {}, 0, {}});
  return &candidates_.back();
}

void Series::put(SeriesRow& row, std::string_view name, double value, bool is_flag) {
  const Key key = this->key(name);
  switch (key.role) {
    case KeyRole::scale: {
      std::size_t index = 0;
      if (is_flag) return;
      Candidate* const known = candidate(name, key, index);
      if (known != nullptr && known->may_have(value)) row.scales.emplace_back(index, value);
      return;
    }
    case KeyRole::overflow:
      if (std::isnan(value)) return;
      if (!is_flag) numbers_[std::string(name)].add(value);
      row.overflow = value != 0;
      return;
    case KeyRole::loss:
      if (row.loss && key.rank >= row.loss_rank) return;
      row.loss = value;
      row.loss_rank = key.rank;
      return;
    case KeyRole::grad_norm:
      if (!row.grad_norm) row.grad_norm = value;
      return;
    default:
      return;
  }
}

void Series::add_without_scale(SeriesRow row) {
  if (row.loss && loss_rank_ && row.loss_rank > *loss_rank_) row.loss.reset();
  if (row.loss && loss_rank_ && row.loss_rank < *loss_rank_) without_scale_ = {};
  if (row.loss) loss_rank_ = row.loss_rank;
  if (!row.step || (!row.loss && !row.grad_norm)) return;
  TraceStep step{
      .step = run_number(row, epochs_without_scale_), .line = row.line, .source = without_scale_.source(path_, kind_)};
  tell_losses(row, step);
  without_scale_.add(step, this);
}

bool Series::waits_for_next(SeriesRow& row) {
  if (!row.is_of_batch || is_batch_size_) return false;
  if (!first_) {
    first_ = std::move(row);
    return true;
  }
  is_batch_size_ = *row.epoch == *first_->epoch + 1 && row.step == first_->step;
  return false;
}

void Series::flush_first() {
  if (first_) add_in_place(*std::exchange(first_, {}));
}

void Series::add(SeriesRow row) {
  if (waits_for_next(row)) return;
  flush_first();
  add_in_place(std::move(row));
}

void Series::add_in_place(SeriesRow row) {
  if (row.is_of_batch && is_batch_size_.value_or(false)) {
    row.step = std::exchange(row.epoch, {});
    count_by("epoch");
  } else if (row.is_of_batch) {
    has_batches_ = true;
  } else if (row.is_of_epoch && has_batches_) {  // what is told of an epoch behind its batches
    row.step.reset();
    count_by("");
  }
  const auto is_sure = [this](const auto& scale) { return candidate_at(scale.first).is_sure(); };
  if (std::ranges::none_of(row.scales, is_sure)) add_without_scale(row);
  if (row.scales.empty()) return;
  const auto number = run_number(row, epochs_);
  const bool is_resumed = row.epoch && !number && epochs_.has_fallen();
  for (const auto& [index, value] : row.scales) {
    Candidate& candidate = candidate_at(index);
    if (is_resumed) candidate.run.restart();
    add_to(candidate, value, row, number);
  }
}

void Series::add_to(Candidate& candidate, double value, const SeriesRow& row, std::optional<std::int64_t> number) {
  if (candidate.path != path_ || candidate.run.trace().sources.empty()) {
    candidate.path = path_;
    candidate.source = candidate.run.source(path_, kind_, candidate.name);
  }
  TraceStep step{.step = number, .line = row.line, .source = candidate.source};
  auto& told = is_smoothed_ || candidate.key.is_logarithm ? step.smoothed
               : candidate.key.is_before                  ? step.scale
                                                          : step.after;
  told = candidate.key.is_logarithm ? std::exp2(value) : value;
  step.overflow = row.overflow;
  tell_losses(row, step);
  candidate.run.add(step, &candidate);
}

void Series::restart(std::int64_t step) {
  flush_first();
  without_scale_.restart(step);
  for (Candidate& candidate : candidates_) candidate.run.restart(step);
}

Trace Series::finish() {
  flush_first();
  Candidate* best = nullptr;
  for (Candidate& candidate : candidates_) {
    if (!candidate.is_scale()) continue;
    const auto better = [](Candidate& a, Candidate& b) {
      if (a.key.rank != b.key.rank) return a.key.rank < b.key.rank;
      return a.run.trace().steps.size() > b.run.trace().steps.size();
    };
    if (best == nullptr || better(candidate, *best)) best = &candidate;
  }
  Trace trace;
  if (best != nullptr) {
    for (const Candidate& other : candidates_) {
      const bool is_other = &other != best && other.is_scale();
      if (!is_other || without_axis(other.name) == without_axis(best->name)) continue;
      best->run.warn("other-series", "the scale told is \"" + escaped(best->name) + "\"; \"" + escaped(other.name) +
                                         "\" could be one as well: ask for it by its name");
    }
    best->run.trace().unit = unit_.empty() ? unit_of(best->name, best->path) : unit_;
    trace = best->run.finish();
    if (has_counts()) trace.steps = without_overflows(trace.steps);
  } else {
    Run none;
    none.tell_without_scale(without_scale_);
    for (const Candidate& other : candidates_) {
      if (other.run.empty()) continue;
      none.warn("other-series", "\"" + escaped(other.name) +
                                    "\" could be a loss scale, but does not go as one: ask for it by its name (--tag " +
                                    escaped(other.name) + ")");
    }
    trace = none.finish();
  }
  for (auto& [code, text] : warnings_) trace.warnings.push_back({code, text});
  for (const auto& [path, file] : files_) {
    if (file.broken == 0) continue;
    trace.warnings.push_back({"broken-lines", escaped(path) + ": " + std::to_string(file.broken) + " lines are no " +
                                                  std::string(file.no) + ", the first is line " +
                                                  std::to_string(file.first_broken)});
  }
  return trace;
}

}  // namespace tare
