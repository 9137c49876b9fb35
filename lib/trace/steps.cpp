#include "lib/trace/steps.hpp"

#include <bit>
#include <cmath>

#include "lib/container/varint.hpp"

namespace tare {

namespace {

enum Changed : std::uint64_t {
  step_changed = 1,
  line_changed = 2,
  scale_changed = 4,
  after_changed = 8,
  smoothed_changed = 16,
  overflow_changed = 32,
  skipped_changed = 64,
  nan_changed = 128,
  span_changed = 256,
  segment_changed = 512,
  source_changed = 1024,
  fatal_changed = 2048,
  apart_changed = 4096,
};

/// "No number here": a NaN that no arithmetic makes.
constexpr std::uint32_t no_number_bits = 0x7fa57ace;
float no_number() {
  return std::bit_cast<float>(no_number_bits);
}
bool is_number(float value) {
  return std::bit_cast<std::uint32_t>(value) != no_number_bits;
}

std::uint64_t minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b);
}
std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// Small for small numbers of either sign.
std::uint64_t zigzag(std::uint64_t value) {
  return value << 1 ^ (0 - (value >> 63));
}
std::uint64_t unzigzag(std::uint64_t value) {
  return value >> 1 ^ (0 - (value & 1));
}

bool same(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return std::bit_cast<std::uint64_t>(*a) == std::bit_cast<std::uint64_t>(*b);
}

/// 0 for none; powers of two, as scales mostly are, take two bytes.
void put(Bytes& to, const std::optional<double>& value) {
  if (!value) return append_varint(to, 0);
  const auto bits = std::bit_cast<std::uint64_t>(*value);
  if (bits << 12 == 0) return append_varint(to, (bits >> 52) + 2);
  append_varint(to, 1);
  for (int shift = 0; shift < 64; shift += 8) to.push_back(static_cast<std::byte>(bits >> shift));
}

std::uint64_t take(ByteView& from) {
  return take_varint(from).value_or(0);
}

std::optional<double> take_number(ByteView& from) {
  const std::uint64_t kind = take(from);
  if (kind == 0) return {};
  if (kind > 1) return std::bit_cast<double>((kind - 2) << 52);
  std::uint64_t bits = 0;
  for (unsigned i = 0; i < 8; ++i) bits |= std::to_integer<std::uint64_t>(from[i]) << 8 * i;
  from = from.subspan(8);
  return std::bit_cast<double>(bits);
}

/// A count that may be none. The largest one is not told from none.
void put(Bytes& to, const std::optional<std::uint64_t>& value) {
  append_varint(to, value ? *value + 1 : 0);
}
std::optional<std::uint64_t> take_count(ByteView& from) {
  const std::uint64_t value = take(from);
  return value == 0 ? std::nullopt : std::optional(value - 1);
}

void advance(TraceStep& step, const Strides& strides) {
  if (step.step) step.step = plus(*step.step, strides.step);
  if (step.line != 0) step.line += strides.line;
}

std::uint64_t changes(const TraceStep& expected, const TraceStep& step) {
  std::uint64_t changed = 0;
  if (expected.step != step.step) changed |= step_changed;
  if (expected.line != step.line) changed |= line_changed;
  if (!same(expected.scale, step.scale)) changed |= scale_changed;
  if (!same(expected.after, step.after)) changed |= after_changed;
  if (!same(expected.smoothed, step.smoothed)) changed |= smoothed_changed;
  if (expected.overflow != step.overflow) changed |= overflow_changed;
  if (expected.skipped != step.skipped) changed |= skipped_changed;
  if (expected.nan != step.nan) changed |= nan_changed;
  if (expected.span != step.span) changed |= span_changed;
  if (expected.segment != step.segment) changed |= segment_changed;
  if (expected.source != step.source) changed |= source_changed;
  if (expected.fatal != step.fatal) changed |= fatal_changed;
  if (expected.apart != step.apart) changed |= apart_changed;
  return changed;
}

/// Numbers and lines are told from those of `before`, and their distance is what is expected of the next one.
void put(Bytes& to, const TraceStep& before, const TraceStep& step, std::uint64_t changed, Strides& strides) {
  append_varint(to, changed);
  if ((changed & step_changed) != 0) {
    const std::int64_t base = before.step.value_or(0);
    append_varint(to, step.step ? 1 : 0);
    if (step.step) append_varint(to, zigzag(minus(*step.step, base)));
    if (step.step && before.step) strides.step = static_cast<std::int64_t>(minus(*step.step, base));
  }
  if ((changed & line_changed) != 0) {
    append_varint(to, zigzag(step.line - before.line));
    strides.line = step.line - before.line;
  }
  if ((changed & scale_changed) != 0) put(to, step.scale);
  if ((changed & after_changed) != 0) put(to, step.after);
  if ((changed & smoothed_changed) != 0) put(to, step.smoothed);
  if ((changed & overflow_changed) != 0) append_varint(to, step.overflow ? 1 + std::uint64_t{*step.overflow} : 0);
  if ((changed & skipped_changed) != 0) put(to, step.skipped);
  if ((changed & nan_changed) != 0) put(to, step.nan);
  if ((changed & span_changed) != 0) append_varint(to, step.span);
  if ((changed & segment_changed) != 0) append_varint(to, step.segment);
  if ((changed & source_changed) != 0) append_varint(to, step.source);
}

/// What put() put: `step` is the one expected, `before` the one before it.
void take_changes(ByteView& from, const TraceStep& before, TraceStep& step, Strides& strides) {
  const std::uint64_t changed = take(from);
  if ((changed & step_changed) != 0) {
    const std::int64_t base = before.step.value_or(0);
    step.step = std::nullopt;
    if (take(from) != 0) step.step = plus(base, static_cast<std::int64_t>(unzigzag(take(from))));
    if (step.step && before.step) strides.step = static_cast<std::int64_t>(minus(*step.step, base));
  }
  if ((changed & line_changed) != 0) {
    strides.line = unzigzag(take(from));
    step.line = before.line + strides.line;
  }
  if ((changed & scale_changed) != 0) step.scale = take_number(from);
  if ((changed & after_changed) != 0) step.after = take_number(from);
  if ((changed & smoothed_changed) != 0) step.smoothed = take_number(from);
  if ((changed & overflow_changed) != 0) {
    const std::uint64_t value = take(from);
    step.overflow = value == 0 ? std::nullopt : std::optional(value == 2);
  }
  if ((changed & skipped_changed) != 0) step.skipped = take_count(from);
  if ((changed & nan_changed) != 0) step.nan = take_count(from);
  if ((changed & span_changed) != 0) step.span = take(from);
  if ((changed & segment_changed) != 0) step.segment = static_cast<std::uint32_t>(take(from));
  if ((changed & source_changed) != 0) step.source = static_cast<std::uint32_t>(take(from));
  if ((changed & fatal_changed) != 0) step.fatal = !step.fatal;
  if ((changed & apart_changed) != 0) step.apart = !step.apart;
}

float later(float /*first*/, float second) {
  return second;
}
/// The largest, where NaN is larger than all.
float larger(float first, float second) {
  return std::isnan(first) || first > second ? first : second;
}

float merged(float first, float second, float (*merge)(float, float)) {
  if (!is_number(second)) return first;
  return is_number(first) ? merge(first, second) : second;
}

void halve(std::vector<float>& numbers, float (*merge)(float, float)) {
  const std::size_t half = (numbers.size() + 1) / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const float second = 2 * i + 1 < numbers.size() ? numbers[2 * i + 1] : no_number();
    numbers[i] = merged(numbers[2 * i], second, merge);
  }
  numbers.resize(half);
}

}  // namespace

void TraceSteps::put_number(std::vector<float>& numbers, std::optional<float> value, float (*merge)(float, float)) {
  if (numbers.empty() && !value) return;
  const std::size_t index = size_ / every_;
  if (numbers.size() <= index) numbers.resize(index + 1, no_number());
  if (value) numbers[index] = merged(numbers[index], *value, merge);
}

bool TraceSteps::push_back(const TraceStep& step) {
  if (codes_.size() >= codes_most) return false;
  TraceStep expected = last_;
  if (size_ > 0) advance(expected, strides_);
  const std::uint64_t changed = changes(expected, step);
  if (changed == 0 && size_ > 0) {
    ++repeats_;
  } else {
    if (size_ > 0) append_varint(codes_, repeats_);
    repeats_ = 0;
    put(codes_, last_, step, changed, strides_);
  }
  if (size_ / every_ >= numbers_most) {
    halve(losses_, later);
    halve(norms_, larger);
    every_ *= 2;
  }
  put_number(losses_, step.loss, later);
  put_number(norms_, step.grad_norm, larger);
  last_ = step;
  ++size_;
  return true;
}

TraceSteps::Iterator::Iterator(const TraceSteps& steps, std::size_t index) : steps_(&steps), index_(index) {
  read();
}

TraceSteps::Iterator& TraceSteps::Iterator::operator++() {
  ++index_;
  read();
  return *this;
}

void TraceSteps::Iterator::read() {
  if (index_ >= steps_->size_) return;
  const TraceStep before = step_;
  if (index_ > 0) advance(step_, strides_);
  if (index_ > 0 && repeats_ > 0) {
    --repeats_;
  } else {
    ByteView rest = ByteView(steps_->codes_).subspan(code_);
    take_changes(rest, before, step_, strides_);
    repeats_ = rest.empty() ? steps_->repeats_ : take(rest);
    code_ = steps_->codes_.size() - rest.size();
  }
  const std::size_t every = steps_->every_;
  const auto told = [&](const std::vector<float>& numbers) -> std::optional<float> {
    if (index_ % every != every - 1 && index_ + 1 != steps_->size_) return {};
    if (index_ / every >= numbers.size() || !is_number(numbers[index_ / every])) return {};
    return numbers[index_ / every];
  };
  step_.loss = told(steps_->losses_);
  step_.grad_norm = told(steps_->norms_);
}

}  // namespace tare
