// The steps of a trace: millions of them in little memory, because most are like the one before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "lib/base/bytes.hpp"

namespace tare {

/// One thing that a source tells of one step, or of the `span` steps that end at `step`.
struct TraceStep {
  std::optional<std::int64_t> step = {};  ///< as the source counts; nothing where it gives no number
  std::optional<double> scale = {};       ///< that the step ran with
  std::optional<double> after = {};       ///< that it left for the next; a printed scale whose moment is unknown, too
  std::optional<double> smoothed = {};    ///< a printed mean or median of scales: no step's scale
  std::optional<bool> overflow = {};      ///< nothing where the span has both kinds
  std::optional<std::uint64_t> skipped = {};  ///< of the span's steps
  std::optional<std::uint64_t> nan = {};  ///< of the span's steps, those whose loss was NaN, as the source counts them
  std::optional<float> loss = {}, grad_norm = {};  ///< as printed: of the step, or of the span
  std::uint64_t span = 1;
  std::uint64_t line = 0;     ///< from 1: the line, row or record of its source; 0: none
  std::uint32_t segment = 0;  ///< index into Trace::segments
  std::uint32_t source = 0;   ///< index into Trace::sources
  bool fatal = false;         ///< told by the exception that ended the run
  bool apart = false;  ///< an overflow without a number: losses told since the one before show steps between them

  bool operator==(const TraceStep&) const = default;
};

/// What the next step's number and line are expected to be, from those before.
struct Strides {
  std::int64_t step = 1;
  std::uint64_t line = 1;
};

/// A list to append to and to walk. A step that goes on as those before it costs next to nothing. Losses and norms cost
/// four bytes each; where there are more than numbers_most, one is kept of every second step only, then of every fourth
/// ...: the last loss of those that it stands for, the largest norm.
class TraceSteps {
 public:
  static constexpr std::size_t numbers_most = std::size_t{1} << 21;
  static constexpr std::size_t codes_most = std::size_t{16} << 20;

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = TraceStep;
    using difference_type = std::ptrdiff_t;
    using pointer = const TraceStep*;
    using reference = const TraceStep&;

    reference operator*() const { return step_; }
    pointer operator->() const { return &step_; }
    Iterator& operator++();
    void operator++(int) { ++*this; }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    friend class TraceSteps;
    Iterator(const TraceSteps& steps, std::size_t index);
    void read();

    const TraceSteps* steps_;
    std::size_t index_;
    std::size_t code_ = 0;     ///< where the next change stands in codes_
    std::size_t repeats_ = 0;  ///< left of the run that is walked
    TraceStep step_;
    Strides strides_;
  };

  /// False where nothing more is kept, because codes_most is reached: of steps of which each is unlike the other.
  bool push_back(const TraceStep& step);
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size_}; }
  /// Of how many neighbours one loss and one norm are kept: 1 unless there are millions.
  [[nodiscard]] std::size_t told_every() const { return every_; }

 private:
  void put_number(std::vector<float>& numbers, std::optional<float> value, float (*merge)(float, float));

  Bytes codes_;              ///< what changes from one step to the next, and how often nothing does
  std::size_t repeats_ = 0;  ///< of the run that is not yet closed
  std::size_t size_ = 0, every_ = 1;
  std::vector<float> losses_, norms_;  ///< one for every_ steps; empty as long as there is none at all
  TraceStep last_;
  Strides strides_;
};

}  // namespace tare
