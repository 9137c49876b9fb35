// How a framework lays out its FP8 state: what its scale means, which end of a history is the newest, and which column
// belongs to which tensor. Source of all: the frameworks' own update code.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tare {

/// Where in a history of L entries the newest finished amax stands, and where those before it do.
enum class AgeOrder : std::uint8_t {
  last_first,   ///< L-1, L-2, ... 1; entry 0 is what the running step writes to (the only one where L is 1)
  first_wraps,  ///< 0, L-1, L-2, ... 1; round and round where a rule has an index: index, index-1, ... index+1
  first,        ///< 0, 1, ... L-1
  second,       ///< 1, 2, ... L-1; entry 0 is what the running step writes to
};

enum class ScaleMeaning : std::uint8_t {
  multiplier,  ///< FP8 = value * scale
  divisor,     ///< FP8 = value / scale
};

/// What hangs on a stored scale, and so what becomes of an edit.
enum class ScaleUse : std::uint8_t {
  recomputed,   ///< of a running step: the next one makes it anew, from the history
  calibrated,   ///< what comes through a layer later is quantised with it: measured once, and never again
  stored_data,  ///< numbers in the checkpoint were quantised with it: with another scale they mean other values
};

/// The largest numbers of the formats.
inline constexpr double fp8_largest_e4m3 = 448, fp8_largest_e5m2 = 57344, fp4_largest = 6;

/// One tensor of a layer: which fields, and which of their columns, are its own.
struct Fp8Rule {
  std::string_view role;  ///< input, weight, output, grad_output, grad_input
  std::string_view scale;
  std::string_view scale_inv = {};
  std::string_view history = {};
  std::string_view max_field = {};       ///< the field with the format's largest number
  double format_max = fp8_largest_e4m3;  ///< where no field says
  std::uint32_t column = 0;
  std::uint32_t stride = 0;                  ///< columns of each matrix product; 0: all of the field is this tensor's
  std::optional<ScaleUse> use = {};          ///< where it is not the convention's
  std::optional<ScaleMeaning> meaning = {};  ///< likewise
  /// The field with the newest amax, where the rule looks at it in place of the history's oldest entry.
  std::string_view newest = {};
  /// The field with the entry that the newest amax was written to, where a history is written round and round.
  std::string_view index = {};
};

// Of stored weights. A second, global scale of a tensor stands over those of its blocks: a value is the product.

/// A scale without a history.
constexpr Fp8Rule scale_of(std::string_view role, std::string_view scale, double format_max = fp8_largest_e4m3) {
  Fp8Rule rule;
  rule.role = role;
  rule.scale = scale;
  rule.format_max = format_max;
  return rule;
}

/// One that values are quantised with when the model runs.
constexpr Fp8Rule calibrated(Fp8Rule rule) {
  rule.use = ScaleUse::calibrated;
  return rule;
}

constexpr Fp8Rule multiplying(Fp8Rule rule) {
  rule.meaning = ScaleMeaning::multiplier;
  return rule;
}

struct Fp8Convention {
  AgeOrder order = AgeOrder::first;
  ScaleMeaning meaning = ScaleMeaning::multiplier;
  ScaleUse use = ScaleUse::recomputed;
  std::span<const Fp8Rule> rules = {};
};

/// "recomputed" ...
std::string_view name(ScaleUse use);

/// The entry of a history of `length` that is `age` steps old, 0 being the newest finished. REQUIRES: age <
/// finished_entries(order, length).
std::uint64_t entry_of_age(AgeOrder order, std::uint64_t length, std::uint64_t age);
/// How many entries of a history are of finished steps.
std::uint64_t finished_entries(AgeOrder order, std::uint64_t length);

}  // namespace tare
