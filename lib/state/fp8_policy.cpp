#include "lib/state/fp8_policy.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/base/text.hpp"

namespace tare {
namespace {

using kernels::fp8::Layout;
using kernels::fp8::Rule;
using Spec = Fp8ParameterSpec;
using Own = Fp8Parameters;

constexpr double longest_history = 1 << 20;
constexpr double widest_margin = 126;

constexpr std::array<std::string_view, 3> variants{"fused_bulk", "fused_single", "unfused"};
constexpr std::array<std::string_view, 2> readings{"continuous", "stepped"};
constexpr std::array<std::string_view, 2> counted_words{"at_largest", "above_largest"};
constexpr std::array<std::string_view, 2> algorithms{"max", "most_recent"};
constexpr std::array<std::string_view, 3> torchao_releases{"0.7", "0.6", "0.4"};
constexpr std::array<std::string_view, 3> orig_dtypes{"bfloat16", "float32", "float16"};

constexpr Spec history_spec(std::string_view name) {
  return {name, "history_length", &Own::history_length, 1, longest_history, {}, "entries of the amax history"};
}
constexpr Spec margin_spec{"margin", "", &Own::margin, -widest_margin, widest_margin, {}, "powers of two left free"};
constexpr Spec start_spec{"initial_scale", "initial_scale", &Own::initial_scale, 0x1p-126, 0x1p126, {}, "at the start"};

constexpr std::array transformer_engine_parameters{
    Spec{"variant", "", &Own::variant, 0, 2, variants, "which of TransformerEngine's three implementations"},
    history_spec("amax_history_len"),
    Spec{"amax_compute_algo", "", &Own::algorithm, 0, 1, algorithms, "the whole history's amax, or the newest"},
    margin_spec};
constexpr std::array te_current_parameters{
    Spec{"force_pow_2_scales", "", &Own::power_of_two, 0, 1, {}, "scales rounded down to powers of two"},
    Spec{"amax_epsilon", "", &Own::epsilon, 0, 0x1p127, {}, "an amax counts as at least this"}};
constexpr std::array fixed_parameters{start_spec};
constexpr std::array msamp_parameters{history_spec("window_size"), margin_spec};
constexpr std::array flax_parameters{history_spec("amax_history_length"), margin_spec};
constexpr std::array torchao_delayed_parameters{
    history_spec("history_len"),
    Spec{"variant", "", &Own::variant, 0, 2, torchao_releases, "whose arithmetic: 0.7 to 0.9, 0.6, or 0.4 and 0.5"},
    Spec{"orig_dtype", "", &Own::orig_dtype, 0, 2, orig_dtypes, "the model's: up to 0.6 float16 bounds its scales"},
    Spec{"enable_amax_init", "", &Own::initialises, 0, 1, {}, "the first amax becomes the history's newest entry"}};
constexpr std::array torchao_dynamic_parameters{
    Spec{"round_scales_to_power_of_2", "", &Own::power_of_two, 0, 1, {}, "scales rounded down to powers of two"}};
constexpr std::array fp8_lm_parameters{
    start_spec,
    Spec{"variant", "", &Own::variant, 0, 1, readings, "mu grows a little each step, or after growth_steps at once"},
    Spec{"growth_steps", "growth_interval", &Own::growth_steps, 1, 1 << 30, {}, "clean steps in which mu grows"},
    Spec{"growth_exponent", "", &Own::growth_exponent, 1, 2, {}, "powers of two by which it does"},
    Spec{"counted", "", &Own::counted, 0, 1, counted_words, "whether the largest number itself is among them"},
    Spec{"threshold", "", &Own::threshold, 0, 1, {}, "the fraction of values at the largest that halves mu"}};

constexpr Fp8FieldSpec scale_field{"scale", "scale", Fp8Array::scale, true};
constexpr Fp8FieldSpec divisor_field{"scale", "scale_inv", Fp8Array::scale, true};
constexpr Fp8FieldSpec history_field{"amax_history", "amax_history", Fp8Array::history, true};
constexpr Fp8FieldSpec seen_amax_field{"amax", "", Fp8Array::amax, false};

constexpr std::array transformer_engine_fields{scale_field, history_field};
constexpr std::array plain_fields{scale_field, seen_amax_field};
constexpr std::array msamp_fields{scale_field, Fp8FieldSpec{"amax", "amax_history", Fp8Array::history, true},
                                  Fp8FieldSpec{"amax_counter", "", Fp8Array::counter, true}};
constexpr std::array flax_fields{divisor_field, history_field, seen_amax_field};
constexpr std::array torchao_delayed_fields{scale_field, history_field, seen_amax_field,
                                            Fp8FieldSpec{"is_amax_initialized", "", Fp8Array::initialised, false}};
constexpr std::array fp8_lm_fields{Fp8FieldSpec{"mu", "scale", Fp8Array::mu, true},
                                   Fp8FieldSpec{"amax", "", Fp8Array::amax, false},
                                   Fp8FieldSpec{"clean_steps", "growth_tracker", Fp8Array::counter, false},
                                   Fp8FieldSpec{"values", "", Fp8Array::seen, false},
                                   Fp8FieldSpec{"values_at_largest", "", Fp8Array::at_largest, false}};

constexpr std::array specs{
    Fp8PolicySpec{"transformer_engine", "TransformerEngine 2.20.2, DelayedScaling",
                  "a scale from the greatest amax of a history", Rule::transformer_engine, Layout::transformer_engine,
                  1024, transformer_engine_parameters, transformer_engine_fields},
    Fp8PolicySpec{"te_current", "TransformerEngine 2.20.2, Float8CurrentScaling", "a scale from this amax alone",
                  Rule::current, Layout::transformer_engine, 1, te_current_parameters, plain_fields},
    Fp8PolicySpec{"fp8_static", "any", "a scale that never moves", Rule::fixed, Layout::transformer_engine, 1,
                  fixed_parameters, plain_fields},
    Fp8PolicySpec{"msamp", "MS-AMP 0.4.0", "a power of two from the greatest amax of a window", Rule::msamp,
                  Layout::msamp, 16, msamp_parameters, msamp_fields},
    Fp8PolicySpec{"flax_fp8", "flax 0.12.8, fp8_ops", "a divisor from the greatest amax of a history", Rule::flax,
                  Layout::flax, 1024, flax_parameters, flax_fields},
    Fp8PolicySpec{"keras_fp8", "Keras 3.15.1, float8", "a divisor from the greatest amax of a history", Rule::flax,
                  Layout::flax, 1024, flax_parameters, flax_fields},
    Fp8PolicySpec{"torchao_delayed", "torchao 0.9.0, delayed scaling",
                  "a scale from the newest amax and a history that keeps the first", Rule::torchao_delayed,
                  Layout::torchao, 16, torchao_delayed_parameters, torchao_delayed_fields},
    Fp8PolicySpec{"torchao_dynamic", "torchao 0.18.0, dynamic scaling", "a scale from this amax alone, in double",
                  Rule::torchao_dynamic, Layout::transformer_engine, 1, torchao_dynamic_parameters, plain_fields},
    Fp8PolicySpec{"fp8_lm", "FP8-LM (arXiv 2310.18313), automatic scaling",
                  "a factor that grows until values reach the largest", Rule::fp8_lm, Layout::transformer_engine, 1,
                  fp8_lm_parameters, fp8_lm_fields}};

kernels::fp8::TeVariant variant_of(std::int64_t index) {
  using kernels::fp8::TeVariant;
  constexpr std::array kinds{TeVariant::bulk, TeVariant::fused, TeVariant::unfused};
  return kinds[static_cast<std::size_t>(index)];
}

}  // namespace

std::span<const Fp8PolicySpec> fp8_policies() {
  return specs;
}

const Fp8PolicySpec* find_fp8_policy(std::string_view name) {
  const auto found = std::ranges::find(specs, name, &Fp8PolicySpec::name);
  return found == specs.end() ? nullptr : &*found;
}

bool has(const Fp8PolicySpec& spec, Fp8Array array) {
  return std::ranges::find(spec.fields, array, &Fp8FieldSpec::array) != spec.fields.end();
}

const Fp8ParameterSpec* find_parameter(const Fp8PolicySpec& spec, std::string_view key) {
  for (const Fp8ParameterSpec& parameter : spec.parameters) {
    if (parameter.name == key || (!parameter.role.empty() && parameter.role == key)) return &parameter;
  }
  return nullptr;
}

std::string parameter_names(const Fp8PolicySpec& spec) {
  std::string names;
  for (const Fp8ParameterSpec& parameter : spec.parameters)
    names.append(names.empty() ? "" : ", ").append(parameter.name);
  return names;
}

std::string range_text(const Fp8ParameterSpec& spec) {
  if (std::holds_alternative<bool Fp8Parameters::*>(spec.member)) return "true or false";
  if (std::holds_alternative<double Fp8Parameters::*>(spec.member))
    return float_text(spec.least) + " to " + float_text(spec.most);
  if (spec.words.empty())
    return std::to_string(static_cast<std::int64_t>(spec.least)) + " to " +
           std::to_string(static_cast<std::int64_t>(spec.most));
  std::string text;
  for (const std::string_view word : spec.words) text.append(text.empty() ? "" : " or ").append(word);
  return text;
}

Fp8Parameters default_parameters(const Fp8PolicySpec& spec) {
  Fp8Parameters parameters;
  parameters.history_length = spec.history_length;
  return parameters;
}

kernels::fp8::Params kernel_params(const Fp8PolicySpec& spec, const Fp8Parameters& parameters) {
  const auto two_to_margin = static_cast<float>(std::exp2(parameters.margin));
  kernels::fp8::Params params;
  params.rule = spec.rule;
  params.transformer_engine = {variant_of(parameters.variant), parameters.algorithm == 1, two_to_margin};
  params.current.power_of_two = parameters.power_of_two;
  params.current.epsilon = static_cast<float>(parameters.epsilon);
  params.msamp.margin = static_cast<float>(parameters.margin);
  params.flax.two_to_margin = two_to_margin;
  const bool is_old_torchao = parameters.variant == 2;
  params.torchao.in_float = spec.rule == Rule::torchao_delayed && is_old_torchao;
  params.torchao.fits_float16 = spec.rule == Rule::torchao_delayed && parameters.variant != 0 &&
                                orig_dtypes[static_cast<std::size_t>(parameters.orig_dtype)] == "float16";
  params.torchao.power_of_two = parameters.power_of_two;
  params.torchao.initialises = parameters.initialises;
  const bool is_stepped = parameters.variant == 1;
  const auto exponent = static_cast<double>(parameters.growth_exponent);
  params.fp8_lm.growth = std::exp2(is_stepped ? exponent : exponent / static_cast<double>(parameters.growth_steps));
  params.fp8_lm.growth_steps = is_stepped ? static_cast<std::uint32_t>(parameters.growth_steps) : 1;
  params.fp8_lm.above = parameters.counted == 1 ? 1 : 0;
  params.fp8_lm.threshold = parameters.threshold;
  return params;
}

kernels::fp8::WindowShape window_shape(const Fp8PolicySpec& spec, const Fp8Parameters& parameters) {
  return {spec.layout, static_cast<std::uint32_t>(parameters.history_length)};
}

std::string_view fp8_format_name(Dtype format) {
  if (format == Dtype::f8_e4m3fn) return "e4m3";
  return format == Dtype::f8_e5m2 ? "e5m2" : name_of(format);
}

std::optional<Dtype> find_fp8_format(std::string_view name) {
  for (const Dtype format : {Dtype::f8_e4m3fn, Dtype::f8_e5m2, Dtype::f16, Dtype::bf16, Dtype::f32}) {
    if (name == fp8_format_name(format)) return format;
  }
  return {};
}

float fp8_largest(Dtype format) {
  if (format == Dtype::f16) return widen<F16>(F16::largest);
  if (format == Dtype::bf16) return 0x1.fep127f;
  if (format == Dtype::f32) return 0x1.fffffep127f;
  return format == Dtype::f8_e4m3fn ? widen<F8E4m3fn>(F8E4m3fn::largest) : widen<F8E5m2>(F8E5m2::largest);
}

}  // namespace tare
