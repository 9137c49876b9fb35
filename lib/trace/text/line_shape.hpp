// What a line of a log looks like that tells of the scale: one descriptor a shape, in the file of its framework.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tare {

/// What a number in a line means.
enum class Fact : std::uint8_t {
  step,
  batch,  ///< of the epoch, whose size the line does not tell: a step's number in the first epoch alone
  epoch,
  per_epoch,      ///< steps in an epoch
  total,          ///< steps in an epoch or in the run: which, the next epoch tells
  before,         ///< the scale that the step ran with
  after,          ///< the scale that it left, exact
  exponent,       ///< of two, for the same
  printed,        ///< the same in a few decimals: below 1 exact for a power of two alone
  power,          ///< the same, exact for a power of two alone: other values are means
  smoothed,       ///< a mean or median of scales
  ratio,          ///< what `before` is multiplied by
  overflow,       ///< a word: True or False
  skipped,        ///< steps without an update, since the line before
  skipped_total,  ///< the same, since the run began
  nan,            ///< steps with a loss that is NaN, since the line before
  loss,
  grad_norm,
  rank,
  scaler,     ///< which of several scalers
  from_step,  ///< the first of the steps that the line covers
};
inline constexpr std::size_t fact_count = 21;

struct LineField {
  Fact fact;
  std::string_view label;  ///< what stands before the number: blanks, colons, quotes and the like between are skipped
  bool is_required = false;
  char behind = 0;          ///< what stands behind it, blanks aside; 0: anything
  bool is_whole = false;    ///< no other word stands before the label: "loss", and neither "aux_loss" nor "aux loss"
  bool is_next = false;     ///< the label stands right behind the number of the field before
  bool is_counter = false;  ///< of steps or epochs, whole, without a unit: not "accum_step", "ms/step", "412ms"
  bool may_have_prefix = false;  ///< of a counter: "cur_step", "GlobalStep", and "max_step", where nothing else is one
};

enum class Meaning : std::uint8_t {
  event,   ///< one step, mostly an overflow, and mostly without a number
  report,  ///< the interval since the report before
  moment,  ///< one step, with its number
  death,   ///< the exception that ended the run: an overflow that no other line tells
  end,     ///< an exception that ended the run and is no step
  lost,    ///< the trainer's own words that the loss is no number
  aside,   ///< losses and norms, for where nothing tells a scale
};

constexpr bool is_of_losses(Meaning meaning) {
  return meaning == Meaning::aside || meaning == Meaning::lost;
}

/// What an event's line is one of several of.
enum class Part : std::uint8_t { none, iteration, change, attempt, detected, adjusted, skip };

struct LineShape {
  std::string_view kind;       ///< of the source: "deepspeed-log" ...
  std::string_view needle;     ///< what every such line holds, and few others; has one of the triggers in it
  std::string_view also = {};  ///< what must stand in the line besides, one of several with ';' between; empty: nothing
  std::string_view without = {};  ///< what may not, none of those; empty: nothing
  std::span<const LineField> fields = {};
  Meaning meaning = Meaning::event;
  std::optional<bool> overflow = {};  ///< where the line says so by being there
  Part part = Part::none;
  bool is_applied = false;  ///< the weights were updated with what overflowed
  bool holds = false;       ///< the scale stays what it was before
  int first_epoch = 0;      ///< where the count of epochs begins
  std::string_view unit = "step";
  bool is_paced = true;  ///< a report comes every so many steps; false: of a fairseq report the distance alone tells
  bool is_kind_sure = true;        ///< false: other frameworks print the same words
  bool is_told_again = false;      ///< an event that moments tell as well, where the log has any
  bool is_last_resort = false;     ///< for lines that no other shape fits
  bool is_lone = false;            ///< the line tells a scale, or a loss, and no step
  int digits = 0;                  ///< that the scale is printed in, if few: of a power of two they are enough
  bool repeats_steps = false;      ///< a step that overflowed is tried again under its number
  bool is_doubtful = false;        ///< the name may be of anything: a loss scale begins with a great power of two
  bool is_of_any_trainer = false;  ///< epochs count from 0 or 1, bars begin again in each, batches count within it
};

/// A line, or what stands between two carriage returns of one.
struct Line {
  std::string_view text;
  std::uint64_t number = 0;  ///< from 1
  std::uint32_t teller = 0;  ///< of the rank or host that a collector wrote before it; 0: none
  bool is_cut = false;       ///< the file ends in it
};

struct Facts {
  const LineShape* shape = nullptr;
  const Line* line = nullptr;
  std::array<double, fact_count> numbers{};
  std::uint32_t told = 0;

  [[nodiscard]] bool has(Fact fact) const { return (told >> static_cast<unsigned>(fact) & 1) != 0; }
  [[nodiscard]] std::optional<double> get(Fact fact) const {
    return has(fact) ? std::optional(numbers[static_cast<unsigned>(fact)]) : std::nullopt;
  }
  void set(Fact fact, double value) {
    numbers[static_cast<unsigned>(fact)] = value;
    told |= 1U << static_cast<unsigned>(fact);
  }
};

/// All shapes that are known.
std::span<const LineShape* const> line_shapes();

/// The words, of four letters each, of which every needle holds one: only lines that hold one are looked at. A needle
/// of more than losses holds one of the first.
inline constexpr std::array<std::string_view, 8> triggers{"cale", "cali", "flow", "FLOW",
                                                          "kipp", "ch p", "loss", "Loss"};
inline constexpr std::span scale_triggers = std::span(triggers).first<6>();

/// The facts of one line of `shape` in `text`, whose needle stands at `needle`; nothing where a required one lacks.
/// `end` becomes where the last of them ends.
std::optional<Facts> read_facts(const LineShape& shape, const Line& line, std::string_view text, std::size_t needle,
                                std::size_t& end);

}  // namespace tare
