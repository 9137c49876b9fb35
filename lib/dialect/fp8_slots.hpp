// FP8 state in one form, whoever wrote it: a slot for each tensor of a layer, with a scale that multiplies and a
// history from the newest amax to the oldest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/dialect/found.hpp"
#include "lib/dialect/fp8_convention.hpp"

namespace tare {

/// One tensor of a layer. Borrows the fields of the scaler that it was made of.
struct Fp8Slot {
  /// "input"; of a module with several matrix products, or of layers that are stacked, "input.0", "input.1" ...
  std::string role;
  const Field* scale = nullptr;
  const Field* scale_inv = nullptr;  ///< null where there is none
  const Field* history = nullptr;    ///< null where there is none
  const Field* newest = nullptr;     ///< the newest amax where it is not in the history; null where there is none
  /// Which of the fields' columns; `columns` is 0 where all elements are this slot's.
  std::uint64_t column = 0, columns = 0;
  /// Where histories have a row for each slot: which; `rows` is 0 where their entries stand in columns.
  std::uint64_t row = 0, rows = 0;
  std::uint64_t begin = 0;  ///< the entry with which a history that goes round and round begins
  double format_max = 0;
  AgeOrder order = AgeOrder::first;
  ScaleMeaning meaning = ScaleMeaning::multiplier;
  ScaleUse use = ScaleUse::recomputed;

  /// Its elements of the scale field: one, unless it has a scale for each block or channel.
  [[nodiscard]] std::uint64_t scale_count() const;
  /// The index in its field of the slot's i-th scale.
  [[nodiscard]] std::uint64_t scale_index(std::uint64_t i) const { return columns == 0 ? i : column; }
  [[nodiscard]] std::uint64_t history_length() const;
  /// The history's entry that is `age` steps old.
  [[nodiscard]] std::uint64_t entry_of_age(std::uint64_t age) const;
  /// The index in its field of a history's entry.
  [[nodiscard]] std::uint64_t history_index(std::uint64_t entry) const {
    return history_begin() + entry * history_stride();
  }
  /// Of its first entry, and how far it is to the next.
  [[nodiscard]] std::uint64_t history_begin() const;
  [[nodiscard]] std::uint64_t history_stride() const { return rows != 0 || columns == 0 ? 1 : columns; }
  /// The i-th scale as the framework means it: of a byte without a type, the power of two that it stands for.
  [[nodiscard]] double stored(std::uint64_t i = 0) const;
  /// The i-th scale as a multiplier: FP8 = value * scale.
  [[nodiscard]] double multiplier(std::uint64_t i = 0) const;
  /// An entry of the history, by the framework's own index.
  [[nodiscard]] double stored_amax(std::uint64_t entry) const;
  /// REQUIRES: newest is not null.
  [[nodiscard]] double newest_amax() const;
  /// The history of finished steps, newest first: where the newest amax stands beside it, that and all entries but the
  /// oldest, as the rule looks at them.
  [[nodiscard]] std::vector<double> history_by_age() const;
};

/// What the field stores for a multiplier, and the other way round. 0, infinities and NaN have no inverse that would
/// say what is wrong: they stay what they are.
double stored_scale(ScaleMeaning meaning, double multiplier);

/// The type in which a field holds its scales. A plain byte is an exponent with 127 added, as in float8_e8m0fnu: what
/// MXFP8's and MXFP4's writers store where the library that saves them knows no such type.
ElementType scale_type(const Field& field);

/// The slots of a state of kind "fp8", which they borrow; none where its fields fit no convention, or hold no numbers.
std::vector<Fp8Slot> fp8_slots(const FoundScaler& scaler);

/// The layer's name: the path without `_extra_state`, where it ends so. Where files of a checkpoint hold several of
/// that name, each is "FILE:NAME".
std::string layer_name(const FoundScaler& scaler);
std::string layer_name(std::string_view path);
/// Whether `pattern` (as glob_matches takes it) is that layer's name or path; of a set of tare's own, which holds many,
/// the path of the set or one of its layers' names.
bool is_layer(const FoundScaler& scaler, std::string_view pattern);

/// A slot of a set of tare's own is called LAYER/TENSOR; one without the '/' is of no layer, and goes by its name
/// alone. Of other frameworks' states the layer is the state.
std::string layer_of(const FoundScaler& scaler, const Fp8Slot& slot);
std::string_view tensor_of(const FoundScaler& scaler, const Fp8Slot& slot);
/// The slots of the layers that the pattern means; of all where there is none.
std::vector<Fp8Slot> fp8_slots(const FoundScaler& scaler, const std::optional<std::string>& pattern);
/// Of its layers, each once, in the order of the slots.
std::vector<std::string> layers_in(const FoundScaler& scaler);

/// The type of a recipe's field whose value is the name of a user's own function, which nobody runs.
inline constexpr std::string_view fp8_function_type = "function";

/// Where a recipe of TransformerEngine keeps its values as text, "margin=0, amax_history_len=1024", once it was
/// printed.
inline constexpr std::string_view recipe_text_field = "_cached_repr";

/// The recipe's value for the tensors whose scales are in `scale_field`: te.ops may keep a recipe a direction, a state
/// of tare's own has it among its parameters. Null where there is none.
const Field* recipe_field(const FoundScaler& state, std::string_view scale_field, std::string_view name);

/// The algorithms of a recipe that are functions of the user's own, "recipe.amax_compute_algo = my.module.function": no
/// rule of TransformerEngine's, so that nobody knows which scales they make. Empty where there is none.
std::string own_functions(const FoundScaler& state);

/// What can be told of a slot at a glance.
struct Fp8Summary {
  /// Multipliers, of the scales that are positive and finite; where there is none, of the first.
  double scale_min = 0, scale_max = 0;
  std::uint64_t scale_count = 0;
  std::uint64_t scales_not_finite = 0, scales_zero = 0, scales_negative = 0;
  std::uint64_t length = 0;      ///< of the history, 0: none
  std::uint64_t filled = 0;      ///< entries that are not 0
  std::uint64_t not_finite = 0;  ///< entries and scales that are inf or nan
  double newest = 0;             ///< amax of the last finished step
  double max = 0;                ///< the largest finite amax
  /// How many times the largest amax could double before its FP8 value saturates; nothing where there is no amax.
  std::optional<double> margin_bits;

  [[nodiscard]] bool is_dead() const { return length > 0 && filled == 0; }
};

Fp8Summary summary_of(const Fp8Slot& slot);

}  // namespace tare
