// The policies as data: every rule's name, parameters and state fields as its framework calls them, with types,
// defaults and ranges. Whatever drives rules without knowing them (configuration, state files, help) goes through these
// tables; the step itself is dispatch.hpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernels/rule/dispatch.hpp"

namespace tare::rule {

enum class ValueType : int32_t {
  real32,  // a float
  real64,  // a double
  integer32,
  integer64,
  boolean,
  number,    // a Python number: int and float are told apart, and kept
  word,      // one of a few words
  integers,  // a list of 32-bit integers
};

/// Whether a value could be put where it was wanted; nothing changes unless done.
enum class Assigned : int32_t { done, wrong_kind, out_of_range };

/// What a configuration may give: finite, and between the ends. A state from a checkpoint is taken as it is.
struct Range {
  double low = -__builtin_inf();
  double high = __builtin_inf();
  bool low_included = true;
  bool high_included = true;
};

/// A word and the number that stands for it.
struct Word {
  std::string_view text;
  int32_t value;
};

struct ParameterSpec {
  std::string_view name;  // the framework's
  std::string_view role;  // tare's canonical word, empty where there is none
  ValueType type;
  Range range;
  std::string_view unset;       // how "not set" is written ("null", "dynamic"); empty: it must be set
  Number unset_value;           // what the parameters hold then
  std::span<const Word> words;  // of a word
  std::string_view meaning;     // a few words for help

  Number (*read)(const RuleParams&);
  Assigned (*write)(RuleParams&, const Number&);
  WindowList& (*list)(RuleParams&);  // of a integers, else null
};

struct FieldSpec {
  std::string_view name;    // as the framework's object calls it
  std::string_view stored;  // its other spelling (in checkpoints; torch: in its kernel), where there is one; else empty
  std::string_view role;
  ValueType type;

  Number (*read)(const RuleState&);
  Assigned (*write)(RuleState&, const Number&);
  bool (*present)(const RuleParams&);  // null: always
};

enum class Driver : int32_t { overflow, statistics };

struct PolicySpec {
  PolicyId id;
  std::string_view name;
  std::string_view variant;      // "zero", "fixed" ...; empty for a policy of one form, or for the usual of several
  std::string_view variant_key;  // what a configuration calls the choice: "variant", "kind"; else empty
  std::string_view framework;    // whose rule, which version
  std::string_view summary;
  Driver driver;  // statistics: overflows alone leave the scale where it is (layerwise)
  std::span<const ParameterSpec> parameters;
  std::span<const FieldSpec> fields;
  RuleParams (*defaults)();
  const char* (*relation)(const RuleParams&);  // null, or why parameters do not go together (null: they do)
};

/// Every policy, variants one by one. Variants of one policy stand together, the usual one first.
std::span<const PolicySpec> policies();

const PolicySpec& spec_of(PolicyId id);

/// The policy of that name; with an empty variant its first. Null when there is none.
const PolicySpec* find_policy(std::string_view name, std::string_view variant = {});

/// What a configuration calls the choice between the variants of that policy; empty where it has one form.
std::string_view variant_key_of(std::string_view name);

/// By the framework's name, else by role. Null when there is none.
const ParameterSpec* find_parameter(const PolicySpec& spec, std::string_view key);

/// By either spelling of the framework's name, else by role. Null when there is none.
const FieldSpec* find_field(const PolicySpec& spec, std::string_view key);

/// A policy with its framework's defaults, no bounds. Call prepare() once the parameters are what they shall be.
Policy make_policy(const PolicySpec& spec);

/// Fills what is derived from other parameters (mindformers' window list unless given, layerwise's quantile).
void prepare(Policy& policy);

/// A parameter's value: none when it is not set, a word's number for a word.
Number read_parameter(const RuleParams& params, const ParameterSpec& spec);

/// Sets a parameter. none is taken where `unset` is not empty.
Assigned write_parameter(RuleParams& params, const ParameterSpec& spec, const Number& value);

/// Sets a list. out_of_range: too long, or an entry below 0 or beyond 32 bits.
Assigned write_list(RuleParams& params, const ParameterSpec& spec, std::span<const int64_t> values);

/// Why a configuration is refused: the first parameter outside its range, or two that do not go together; "" if fine.
std::string find_fault(const PolicySpec& spec, const RuleParams& params);

/// "more than 1", "at least 0 and at most 1", "float32, float16 or bfloat16".
std::string range_text(const ParameterSpec& spec);

/// What a scaler says when its rule raised, in tare's words with the framework's values.
std::string message_of(const Policy& policy, Raised raised);

}  // namespace tare::rule
