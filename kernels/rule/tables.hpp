// How the policy tables are written: a member pointer gives type, offset and conversions of a parameter or field, so a
// table line is name, role, range and meaning, and cannot disagree with the struct. Internal to kernels/rule.
#pragma once

#include <cfloat>
#include <cmath>
#include <utility>

#include "kernels/rule/policy.hpp"

namespace tare::rule {

/// The tables, in the order in which policies() shows them.
std::span<const PolicySpec> pytorch_policies();
std::span<const PolicySpec> other_policies();

namespace table {

constexpr ValueType type_of(const float*) {
  return ValueType::real32;
}
constexpr ValueType type_of(const double*) {
  return ValueType::real64;
}
constexpr ValueType type_of(const int32_t*) {
  return ValueType::integer32;
}
constexpr ValueType type_of(const int64_t*) {
  return ValueType::integer64;
}
constexpr ValueType type_of(const bool*) {
  return ValueType::boolean;
}
constexpr ValueType type_of(const Number*) {
  return ValueType::number;
}
constexpr ValueType type_of(const Dtype*) {
  return ValueType::word;
}

inline Number read(float value) {
  return real_number(value);
}
inline Number read(double value) {
  return real_number(value);
}
inline Number read(int32_t value) {
  return integer_number(value);
}
inline Number read(int64_t value) {
  return integer_number(value);
}
inline Number read(bool value) {
  return boolean_number(value);
}
inline Number read(const Number& value) {
  return value;
}
inline Number read(Dtype value) {
  return integer_number(static_cast<int32_t>(value));
}

inline bool is_numeric(const Number& value) {
  return value.kind == NumberKind::integer || value.kind == NumberKind::real;
}

inline Assigned write(double& into, const Number& value) {
  if (!is_numeric(value)) return Assigned::wrong_kind;
  into = value_of(value);
  return Assigned::done;
}

inline Assigned write(float& into, const Number& value) {
  if (!is_numeric(value)) return Assigned::wrong_kind;
  const double wide = value_of(value);
  if (is_finite(wide) && std::fabs(wide) > FLT_MAX) return Assigned::out_of_range;
  into = static_cast<float>(wide);
  return Assigned::done;
}

/// Integers, and reals that are whole: Megatron's window is a float in its own configuration.
inline Assigned write(int64_t& into, const Number& value) {
  if (!is_numeric(value)) return Assigned::wrong_kind;
  if (value.kind == NumberKind::integer) {
    into = value.integer;
    return Assigned::done;
  }
  if (value.real != std::floor(value.real)) return Assigned::wrong_kind;
  constexpr double two_to_63 = 9223372036854775808.0;
  if (!(value.real >= -two_to_63 && value.real < two_to_63)) return Assigned::out_of_range;
  into = static_cast<int64_t>(value.real);
  return Assigned::done;
}

inline Assigned write(int32_t& into, const Number& value) {
  int64_t wide = 0;
  const Assigned assigned = write(wide, value);
  if (assigned != Assigned::done) return assigned;
  if (wide < INT32_MIN || wide > INT32_MAX) return Assigned::out_of_range;
  into = static_cast<int32_t>(wide);
  return Assigned::done;
}

inline Assigned write(bool& into, const Number& value) {
  if (value.kind != NumberKind::boolean && value.kind != NumberKind::integer) return Assigned::wrong_kind;
  if (value.integer != 0 && value.integer != 1) return Assigned::out_of_range;
  into = value.integer == 1;
  return Assigned::done;
}

/// None comes only through write_parameter, for a parameter that may be unset.
inline Assigned write(Number& into, const Number& value) {
  if (!is_numeric(value) && value.kind != NumberKind::none) return Assigned::wrong_kind;
  into = value;
  return Assigned::done;
}

inline Assigned write(Dtype& into, const Number& value) {
  if (value.kind != NumberKind::integer) return Assigned::wrong_kind;
  into = static_cast<Dtype>(value.integer);
  return Assigned::done;
}

// Ranges of configurations.
constexpr Range any() {
  return {};
}
constexpr Range above(double low) {
  return {low, __builtin_inf(), false, true};
}
constexpr Range at_least(double low) {
  return {low, __builtin_inf(), true, true};
}
constexpr Range below(double high) {
  return {-__builtin_inf(), high, true, false};
}
constexpr Range inside(double low, double high) {
  return {low, high, false, false};
}
/// A scale that is kept as a float.
constexpr Range single_scale() {
  return {0.0, FLT_MAX, false, true};
}
constexpr Range single_scale_from(double low) {
  return {low, FLT_MAX, true, true};
}

/// Says that a parameter may stay unset: the word for it, and what the struct holds then.
struct Unset {
  std::string_view word;
  Number value;
};

inline constexpr Unset no_floor{"null", {NumberKind::real, 0, -__builtin_inf()}};

/// `SlotMember` is the member of RuleParams, `Member` that of its struct.
template <auto SlotMember, auto Member>
struct Parameter {
  static Number read_it(const RuleParams& params) { return read((params.*SlotMember).*Member); }
  static Assigned write_it(RuleParams& params, const Number& value) {
    return write((params.*SlotMember).*Member, value);
  }

  static constexpr ParameterSpec spec(std::string_view name, std::string_view role, Range range,
                                      std::string_view meaning, Unset unset = {}, std::span<const Word> words = {}) {
    using Value = std::remove_reference_t<decltype((std::declval<RuleParams&>().*SlotMember).*Member)>;
    constexpr ValueType type = type_of(static_cast<const Value*>(nullptr));
    return {name, role, type, range, unset.word, unset.value, words, meaning, read_it, write_it, nullptr};
  }
};

template <auto SlotMember, auto Member>
struct ListParameter {
  static Number read_it(const RuleParams&) { return {}; }
  static Assigned write_it(RuleParams&, const Number&) { return Assigned::wrong_kind; }
  static WindowList& list(RuleParams& params) { return (params.*SlotMember).*Member; }

  static constexpr ParameterSpec spec(std::string_view name, std::string_view role, std::string_view meaning) {
    return {name, role, ValueType::integers, at_least(0), {}, {}, {}, meaning, read_it, write_it, list};
  }
};

template <auto SlotMember, auto Member>
struct Field {
  static Number read_it(const RuleState& state) { return read((state.*SlotMember).*Member); }
  static Assigned write_it(RuleState& state, const Number& value) {
    if (value.kind == NumberKind::none) return Assigned::wrong_kind;
    return write((state.*SlotMember).*Member, value);
  }

  static constexpr FieldSpec spec(std::string_view name, std::string_view role, std::string_view stored = {},
                                  bool (*present)(const RuleParams&) = nullptr) {
    using Value = std::remove_reference_t<decltype((std::declval<RuleState&>().*SlotMember).*Member)>;
    return {name, stored, role, type_of(static_cast<const Value*>(nullptr)), read_it, write_it, present};
  }
};

/// The parameters of a slot as their struct starts.
template <auto SlotMember>
RuleParams defaults() {
  RuleParams params;
  params.*SlotMember = std::remove_reference_t<decltype(params.*SlotMember)>{};
  return params;
}

}  // namespace table
}  // namespace tare::rule
