// The policies of FP8 slots as data: names, parameters and fields as their frameworks call them, and what the kernels
// get of them (kernels/fp8/).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "kernels/fp8/rules.hpp"

namespace tare {

/// Every policy's parameters together; each reads its own.
struct Fp8Parameters {
  std::int64_t variant = 0;         ///< by fp8_variants
  std::int64_t history_length = 1;  ///< entries of the framework's array, the one in progress included
  std::int64_t algorithm = 0;       ///< "max", "most_recent"
  double margin = 0;                ///< powers of two that stay free
  bool power_of_two = false;
  std::int64_t orig_dtype = 0;  ///< "bfloat16", "float32", "float16": of the model's values
  bool initialises = true;      ///< whether the first amax goes to the newest end of the history
  double epsilon = 0;           ///< an amax counts as at least this
  double initial_scale = 1;
  std::int64_t growth_steps = 1000;  ///< clean steps in which fp8_lm's mu doubles, or after which it grows
  std::int64_t growth_exponent = 1;  ///< powers of two of such a growth, where it is stepped
  std::int64_t counted = 0;          ///< "at_largest", "above_largest": which values fp8_lm counts
  double threshold = 1e-5;           ///< the fraction of values at the largest that halves it

  friend bool operator==(const Fp8Parameters&, const Fp8Parameters&) = default;
};

using Fp8Member = std::variant<std::int64_t Fp8Parameters::*, double Fp8Parameters::*, bool Fp8Parameters::*>;

struct Fp8ParameterSpec {
  std::string_view name;  ///< the framework's
  std::string_view role;  ///< tare's own word, or empty
  Fp8Member member;
  double least;
  double most;
  std::span<const std::string_view> words;  ///< an integer that is written as one of them
  std::string_view meaning;
};

/// What a field holds, one value a slot (a history: as many as it is long).
enum class Fp8Array : std::uint8_t { scale, mu, history, counter, initialised, amax, seen, at_largest };

struct Fp8FieldSpec {
  std::string_view name;  ///< the framework's
  std::string_view role;
  Fp8Array array;
  bool needed;  ///< a state without it is refused; others start at zero
};

struct Fp8PolicySpec {
  std::string_view name;
  std::string_view framework;
  std::string_view summary;
  kernels::fp8::Rule rule;
  kernels::fp8::Layout layout;
  std::int64_t history_length;  ///< the framework's default
  std::span<const Fp8ParameterSpec> parameters;
  std::span<const Fp8FieldSpec> fields;
};

std::span<const Fp8PolicySpec> fp8_policies();

/// Null where there is none.
const Fp8PolicySpec* find_fp8_policy(std::string_view name);

/// Whether the policy's state has a field of that kind.
bool has(const Fp8PolicySpec& spec, Fp8Array array);

/// By the framework's name or tare's word. Null where there is none.
const Fp8ParameterSpec* find_parameter(const Fp8PolicySpec& spec, std::string_view key);

/// "amax_history_len, margin ...".
std::string parameter_names(const Fp8PolicySpec& spec);

/// "1 to 1048576", "max or most_recent".
std::string range_text(const Fp8ParameterSpec& spec);

Fp8Parameters default_parameters(const Fp8PolicySpec& spec);

kernels::fp8::Params kernel_params(const Fp8PolicySpec& spec, const Fp8Parameters& parameters);
kernels::fp8::WindowShape window_shape(const Fp8PolicySpec& spec, const Fp8Parameters& parameters);

/// "e4m3", "e5m2", "f16" (MS-AMP's scaled halves), "bf16" or "f32" (which it does not scale); nothing else is one.
std::string_view fp8_format_name(Dtype format);
/// The format of that name; nothing where there is none.
std::optional<Dtype> find_fp8_format(std::string_view name);
/// The largest number of the format: 448, 57344 or 65504.
float fp8_largest(Dtype format);

}  // namespace tare
