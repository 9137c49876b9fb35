// The policies of MindSpore, Paddle, OneFlow, Keras and JAX, the constant one, and the one that follows statistics.
#include "kernels/rule/tables.hpp"

namespace tare::rule {
namespace {

using namespace table;

template <auto Member>
using Mindspore = Parameter<&RuleParams::mindspore, Member>;
template <auto Member>
using Amp = Parameter<&RuleParams::mindspore_amp, Member>;
template <auto Member>
using Manager = Parameter<&RuleParams::mindspore_manager, Member>;
template <auto Member>
using Adaptive = Parameter<&RuleParams::mindformers_adaptive, Member>;
template <auto Member>
using Paper = Parameter<&RuleParams::mindformers_adaptive_paper, Member>;
template <auto Member>
using AdaptiveField = Field<&RuleState::mindformers_adaptive, Member>;
template <auto Member>
using Paddle = Parameter<&RuleParams::paddle, Member>;
template <auto Member>
using PaddleStatic = Parameter<&RuleParams::paddle_static, Member>;
template <auto Member>
using Flax = Parameter<&RuleParams::flax, Member>;
template <auto Member>
using Oneflow = Parameter<&RuleParams::oneflow, Member>;
template <auto Member>
using Jmp = Parameter<&RuleParams::jmp, Member>;
template <auto Member>
using Layerwise = Parameter<&RuleParams::layerwise, Member>;

constexpr Unset first_of_list{"null", {NumberKind::integer, 0, 0.0}};
constexpr Unset not_given{"null", {NumberKind::real, 0, __builtin_nan("")}};

constexpr ParameterSpec mindspore_parameters[] = {
    Mindspore<&MindsporeParams::loss_scale_value>::spec("loss_scale_value", "initial_scale", single_scale(),
                                                        "scale of a fresh scaler"),
    Mindspore<&MindsporeParams::scale_factor>::spec("scale_factor", "growth_factor", above(0),
                                                    "multiplier at growth, divisor at an overflow"),
    Mindspore<&MindsporeParams::scale_window>::spec("scale_window", "growth_interval", at_least(1),
                                                    "clean steps that a growth needs"),
};
constexpr FieldSpec mindspore_fields[] = {
    Field<&RuleState::mindspore, &MindsporeState::scale>::spec("scale_sense", "scale"),
    Field<&RuleState::mindspore, &MindsporeState::current_iterator_step>::spec("current_iterator_step", "step"),
    Field<&RuleState::mindspore, &MindsporeState::last_overflow_iterator_step>::spec("last_overflow_iterator_step",
                                                                                     "last_overflow_step"),
};

constexpr ParameterSpec fixed_parameters[] = {
    Parameter<&RuleParams::constant, &ConstantParams::initial_scale>::spec("loss_scale_value", "initial_scale",
                                                                           single_scale(), "the scale"),
};
constexpr FieldSpec fixed_fields[] = {
    Field<&RuleState::constant, &ConstantState::scale>::spec("scale_sense", "scale"),
};

constexpr ParameterSpec amp_parameters[] = {
    Amp<&MindsporeAmpParams::scale_value>::spec("scale_value", "initial_scale", single_scale_from(1),
                                                "scale of a fresh scaler"),
    Amp<&MindsporeAmpParams::scale_factor>::spec("scale_factor", "growth_factor", above(0),
                                                 "multiplier at growth, divisor at an overflow"),
    Amp<&MindsporeAmpParams::scale_window>::spec("scale_window", "growth_interval", at_least(1),
                                                 "clean steps that a growth needs"),
};
constexpr FieldSpec amp_fields[] = {
    Field<&RuleState::mindspore_amp, &MindsporeAmpState::scale>::spec("scale_value", "scale"),
    Field<&RuleState::mindspore_amp, &MindsporeAmpState::counter>::spec("counter", "growth_tracker"),
};

constexpr ParameterSpec manager_parameters[] = {
    Manager<&MindsporeManagerParams::init_loss_scale>::spec("init_loss_scale", "initial_scale", at_least(1),
                                                            "scale of a fresh scaler"),
    Manager<&MindsporeManagerParams::scale_factor>::spec("scale_factor", "growth_factor", above(0),
                                                         "multiplier at growth, divisor at an overflow"),
    Manager<&MindsporeManagerParams::scale_window>::spec("scale_window", "growth_interval", at_least(1),
                                                         "steps between growths"),
    Manager<&MindsporeManagerParams::bad_step_max>::spec("bad_step_max", {}, at_least(0),
                                                         "more overflows in a row than this stop the run"),
};
constexpr FieldSpec manager_fields[] = {
    Field<&RuleState::mindspore_manager, &MindsporeManagerState::scale>::spec("loss_scale", "scale"),
    Field<&RuleState::mindspore_manager, &MindsporeManagerState::cur_iter>::spec("cur_iter", "step"),
    Field<&RuleState::mindspore_manager, &MindsporeManagerState::last_overflow_iter>::spec("last_overflow_iter",
                                                                                           "last_overflow_step"),
    Field<&RuleState::mindspore_manager, &MindsporeManagerState::bad_step>::spec("bad_step", {}),
};

constexpr ParameterSpec adaptive_parameters[] = {
    Adaptive<&MindformersAdaptiveParams::loss_scale_value>::spec("loss_scale_value", "initial_scale", single_scale(),
                                                                 "scale of a fresh scaler"),
    Adaptive<&MindformersAdaptiveParams::scale_factor>::spec("scale_factor", "growth_factor", above(0),
                                                             "multiplier at growth, divisor at an overflow"),
    Adaptive<&MindformersAdaptiveParams::scale_window>::spec(
        "scale_window", "growth_interval", at_least(1),
        "window at the start; by default, and where the list lacks it, the first of the list", first_of_list),
    Adaptive<&MindformersAdaptiveParams::max_scale_window>::spec("max_scale_window", {}, at_least(1),
                                                                 "greatest window of the list"),
    Adaptive<&MindformersAdaptiveParams::min_scale_window>::spec("min_scale_window", {}, at_least(1),
                                                                 "smallest window of the list"),
    ListParameter<&RuleParams::mindformers_adaptive, &MindformersAdaptiveParams::window_list>::spec(
        "window_list", "window_list", "windows, ascending; by default as the greatest and the smallest give it"),
};
constexpr ParameterSpec paper_parameters[] = {
    Paper<&MindformersAdaptiveParams::loss_scale_value>::spec("loss_scale_value", "initial_scale", single_scale(),
                                                              "scale of a fresh scaler"),
    Paper<&MindformersAdaptiveParams::scale_factor>::spec("scale_factor", "growth_factor", above(0),
                                                          "multiplier at growth, divisor at an overflow"),
    Paper<&MindformersAdaptiveParams::max_scale_window>::spec(
        "max_scale_window", {}, at_least(1), "greatest window of the list; 1000 if below the smallest"),
    Paper<&MindformersAdaptiveParams::min_scale_window>::spec("min_scale_window", {}, at_least(1),
                                                              "smallest window of the list, and the first"),
    ListParameter<&RuleParams::mindformers_adaptive_paper, &MindformersAdaptiveParams::window_list>::spec(
        "window_list", "window_list", "windows, ascending; by default as the greatest and the smallest give it"),
};
const char* adaptive_relation(const RuleParams& params) {
  const MindformersAdaptiveParams& own = params.mindformers_adaptive;
  return own.max_scale_window > own.min_scale_window ? nullptr
                                                     : "max_scale_window is not greater than min_scale_window";
}
constexpr FieldSpec adaptive_fields[] = {
    AdaptiveField<&MindformersAdaptiveState::scale>::spec("scale_sense", "scale"),
    AdaptiveField<&MindformersAdaptiveState::scale_window>::spec("scale_window", "growth_interval"),
    AdaptiveField<&MindformersAdaptiveState::list_index>::spec("list_index", "window_index"),
    AdaptiveField<&MindformersAdaptiveState::scale_window_up_count>::spec("scale_window_up_count", "window_up_count"),
    AdaptiveField<&MindformersAdaptiveState::scale_window_down_count>::spec("scale_window_down_count",
                                                                            "window_down_count"),
    AdaptiveField<&MindformersAdaptiveState::current_iterator_step>::spec("current_iterator_step", "step"),
    AdaptiveField<&MindformersAdaptiveState::last_overflow_iterator_step>::spec("last_overflow_iterator_step",
                                                                                "last_overflow_step"),
};

constexpr ParameterSpec paddle_parameters[] = {
    Paddle<&PaddleParams::init_loss_scaling>::spec("init_loss_scaling", "initial_scale", single_scale(),
                                                   "scale of a fresh scaler"),
    Paddle<&PaddleParams::incr_ratio>::spec("incr_ratio", "growth_factor", above(1), "multiplier at growth"),
    Paddle<&PaddleParams::decr_ratio>::spec("decr_ratio", "backoff_factor", below(1), "multiplier at a back-off"),
    Paddle<&PaddleParams::incr_every_n_steps>::spec("incr_every_n_steps", "growth_interval", at_least(1),
                                                    "clean steps that a growth needs"),
    Paddle<&PaddleParams::decr_every_n_nan_or_inf>::spec("decr_every_n_nan_or_inf", "hysteresis", at_least(1),
                                                         "overflows in a row that a back-off needs"),
    Paddle<&PaddleParams::use_dynamic_loss_scaling>::spec("use_dynamic_loss_scaling", "dynamic", any(),
                                                          "whether the scale moves"),
};
constexpr FieldSpec paddle_fields[] = {
    Field<&RuleState::paddle, &PaddleState::scale>::spec("scale", "scale"),
    Field<&RuleState::paddle, &PaddleState::incr_count>::spec("incr_count", "growth_tracker"),
    Field<&RuleState::paddle, &PaddleState::decr_count>::spec("decr_count", "overflow_tracker"),
};

constexpr ParameterSpec paddle_static_parameters[] = {
    PaddleStatic<&PaddleStaticParams::init_loss_scaling>::spec("init_loss_scaling", "initial_scale", single_scale(),
                                                               "scale of a fresh scaler"),
    PaddleStatic<&PaddleStaticParams::incr_ratio>::spec("incr_ratio", "growth_factor", above(1),
                                                        "multiplier at growth"),
    PaddleStatic<&PaddleStaticParams::decr_ratio>::spec("decr_ratio", "backoff_factor", below(1),
                                                        "multiplier at a back-off"),
    PaddleStatic<&PaddleStaticParams::incr_every_n_steps>::spec("incr_every_n_steps", "growth_interval", at_least(1),
                                                                "clean steps that a growth needs"),
    PaddleStatic<&PaddleStaticParams::decr_every_n_nan_or_inf>::spec(
        "decr_every_n_nan_or_inf", "hysteresis", at_least(1), "overflows in a row that a back-off needs"),
    PaddleStatic<&PaddleStaticParams::stop_update>::spec("stop_update", {}, any(), "holds scale and counters"),
};
constexpr FieldSpec paddle_static_fields[] = {
    Field<&RuleState::paddle_static, &PaddleStaticState::scale>::spec("loss_scaling", "scale", "loss_scaling_0"),
    Field<&RuleState::paddle_static, &PaddleStaticState::num_good_steps>::spec("num_good_steps", "growth_tracker",
                                                                               "num_good_steps_0"),
    Field<&RuleState::paddle_static, &PaddleStaticState::num_bad_steps>::spec("num_bad_steps", "overflow_tracker",
                                                                              "num_bad_steps_0"),
};

constexpr ParameterSpec oneflow_parameters[] = {
    Oneflow<&OneflowParams::init_scale>::spec("init_scale", "initial_scale", single_scale(), "scale of a fresh scaler"),
    Oneflow<&OneflowParams::growth_factor>::spec("growth_factor", "growth_factor", above(0),
                                                 "multiplier at growth, divisor at an overflow"),
    Oneflow<&OneflowParams::growth_interval>::spec("growth_interval", "growth_interval", at_least(1),
                                                   "clean steps that a growth needs"),
};
constexpr FieldSpec oneflow_fields[] = {
    Field<&RuleState::oneflow, &OneflowState::scale>::spec("LossScale", "scale"),
    Field<&RuleState::oneflow, &OneflowState::good_step_counter>::spec("GoodStepCounter", "growth_tracker"),
};

constexpr ParameterSpec keras_parameters[] = {
    Parameter<&RuleParams::keras, &KerasParams::initial_scale>::spec("initial_scale", "initial_scale", single_scale(),
                                                                     "scale of a fresh scaler"),
    Parameter<&RuleParams::keras, &KerasParams::dynamic_growth_steps>::spec(
        "dynamic_growth_steps", "growth_interval", at_least(0), "clean steps that a growth needs"),
};
constexpr FieldSpec keras_fields[] = {
    Field<&RuleState::keras, &KerasState::scale>::spec("dynamic_scale", "scale"),
    Field<&RuleState::keras, &KerasState::step_counter>::spec("step_counter", "growth_tracker"),
};

constexpr ParameterSpec tf_keras_parameters[] = {
    Parameter<&RuleParams::tf_keras, &TfKerasParams::initial_loss_scale>::spec(
        "initial_loss_scale", "initial_scale", single_scale(), "scale of a fresh scaler"),
    Parameter<&RuleParams::tf_keras, &TfKerasParams::growth_steps>::spec("growth_steps", "growth_interval", at_least(1),
                                                                         "clean steps that a growth needs"),
    Parameter<&RuleParams::tf_keras, &TfKerasParams::multiplier>::spec("multiplier", "growth_factor", above(0),
                                                                       "multiplier at growth, divisor at an overflow"),
};
constexpr FieldSpec tf_keras_fields[] = {
    Field<&RuleState::tf_keras, &TfKerasState::scale>::spec("current_loss_scale", "scale"),
    Field<&RuleState::tf_keras, &TfKerasState::good_steps>::spec("good_steps", "growth_tracker"),
};

constexpr ParameterSpec flax_parameters[] = {
    Flax<&FlaxParams::scale>::spec("scale", "initial_scale", single_scale(), "scale of a fresh scaler"),
    Flax<&FlaxParams::growth_factor>::spec("growth_factor", "growth_factor", above(0), "multiplier at growth"),
    Flax<&FlaxParams::backoff_factor>::spec("backoff_factor", "backoff_factor", above(0), "multiplier at an overflow"),
    Flax<&FlaxParams::growth_interval>::spec("growth_interval", "growth_interval", at_least(0),
                                             "clean steps before the one that grows"),
    Flax<&FlaxParams::minimum_scale>::spec("minimum_scale", "min_scale", any(), "floor", no_floor),
};
constexpr FieldSpec flax_fields[] = {
    Field<&RuleState::flax, &FlaxState::scale>::spec("scale", "scale"),
    Field<&RuleState::flax, &FlaxState::fin_steps>::spec("fin_steps", "growth_tracker"),
};

constexpr Word jmp_types[] = {{"float32", static_cast<int32_t>(Dtype::f32)},
                              {"float16", static_cast<int32_t>(Dtype::f16)},
                              {"bfloat16", static_cast<int32_t>(Dtype::bf16)}};
constexpr ParameterSpec jmp_parameters[] = {
    Jmp<&JmpParams::loss_scale>::spec("loss_scale", "initial_scale", single_scale(), "scale of a fresh scaler"),
    Jmp<&JmpParams::period>::spec("period", "growth_interval", at_least(1), "clean steps that a growth needs"),
    Jmp<&JmpParams::factor>::spec("factor", "growth_factor", above(0), "multiplier at growth, divisor at an overflow"),
    Jmp<&JmpParams::min_loss_scale>::spec("min_loss_scale", "min_scale", any(), "floor; 1 in float32 unless given",
                                          not_given),
    Jmp<&JmpParams::dtype>::spec("dtype", {}, any(), "type of the scale", {}, jmp_types),
};
constexpr FieldSpec jmp_fields[] = {
    Field<&RuleState::jmp, &JmpState::scale>::spec("loss_scale", "scale"),
    Field<&RuleState::jmp, &JmpState::counter>::spec("counter", "growth_tracker"),
};

constexpr ParameterSpec constant_parameters[] = {
    Parameter<&RuleParams::constant, &ConstantParams::initial_scale>::spec("initial_scale", "initial_scale",
                                                                           single_scale(), "the scale"),
};
constexpr FieldSpec constant_fields[] = {
    Field<&RuleState::constant, &ConstantState::scale>::spec("scale", "scale"),
};

constexpr ParameterSpec layerwise_parameters[] = {
    Layerwise<&LayerwiseParams::power_of_two>::spec("power_of_two", {}, any(), "whether scales are powers of two"),
    Layerwise<&LayerwiseParams::scale_upper_bound>::spec("scale_upper_bound", "max_scale", above(0),
                                                         "ceiling of one layer's scale"),
    Layerwise<&LayerwiseParams::accum_upper_bound>::spec("accum_upper_bound", {}, above(0),
                                                         "ceiling of the product along the layers"),
    Layerwise<&LayerwiseParams::n_uf_threshold>::spec("n_uf_threshold", {}, inside(0, 1),
                                                      "share of the products that may underflow"),
    Layerwise<&LayerwiseParams::u_min>::spec("u_min", {}, above(0), "smallest number of the gradients' type"),
    Layerwise<&LayerwiseParams::u_max>::spec("u_max", {}, above(0), "largest number of the gradients' type"),
    Layerwise<&LayerwiseParams::update_per_n_iteration>::spec("update_per_n_iteration", {}, at_least(1),
                                                              "steps between estimates"),
};
constexpr FieldSpec layerwise_fields[] = {
    Field<&RuleState::layerwise, &LayerwiseState::scale>::spec("scale", "scale"),
    Field<&RuleState::layerwise, &LayerwiseState::accumulated>::spec("accumulated", {}),
    Field<&RuleState::layerwise, &LayerwiseState::unbound>::spec("unbound", {}),
    Field<&RuleState::layerwise, &LayerwiseState::cur_iter>::spec("cur_iter", "step"),
};

constexpr PolicySpec other_specs[] = {
    {PolicyId::mindspore, "mindspore", "dynamic", "kind", "mindspore 2.10.0", "MindSpore's DynamicLossScaleUpdateCell",
     Driver::overflow, mindspore_parameters, mindspore_fields, defaults<&RuleParams::mindspore>, nullptr},
    {PolicyId::mindspore_fixed, "mindspore", "fixed", "kind", "mindspore 2.10.0",
     "MindSpore's FixedLossScaleUpdateCell", Driver::overflow, fixed_parameters, fixed_fields,
     defaults<&RuleParams::constant>, nullptr},
    {PolicyId::mindspore_amp,
     "mindspore_amp",
     {},
     {},
     "mindspore 2.10.0",
     "mindspore.amp.DynamicLossScaler",
     Driver::overflow,
     amp_parameters,
     amp_fields,
     defaults<&RuleParams::mindspore_amp>,
     nullptr},
    {PolicyId::mindspore_manager,
     "mindspore_manager",
     {},
     {},
     "mindspore 2.10.0",
     "MindSpore's DynamicLossScaleManager",
     Driver::overflow,
     manager_parameters,
     manager_fields,
     defaults<&RuleParams::mindspore_manager>,
     nullptr},
    {PolicyId::mindformers_adaptive,
     "mindformers_adaptive",
     {},
     {},
     "mindformers 2.1.0",
     "mindformers' AdaptiveLossScaleUpdateCell",
     Driver::overflow,
     adaptive_parameters,
     adaptive_fields,
     defaults<&RuleParams::mindformers_adaptive>,
     adaptive_relation},
    {PolicyId::mindformers_adaptive_paper, "mindformers_adaptive", "paper", "variant",
     "the rule as its authors describe it", "the adaptive window as its authors describe it", Driver::overflow,
     paper_parameters, adaptive_fields, defaults<&RuleParams::mindformers_adaptive_paper>, nullptr},
    {PolicyId::paddle,
     "paddle",
     {},
     {},
     "paddlepaddle 3.3.1",
     "paddle.amp.GradScaler",
     Driver::overflow,
     paddle_parameters,
     paddle_fields,
     defaults<&RuleParams::paddle>,
     nullptr},
    {PolicyId::paddle_static,
     "paddle_static",
     {},
     {},
     "paddlepaddle 3.3.1",
     "Paddle's update_loss_scaling operator",
     Driver::overflow,
     paddle_static_parameters,
     paddle_static_fields,
     defaults<&RuleParams::paddle_static>,
     nullptr},
    {PolicyId::oneflow,
     "oneflow",
     {},
     {},
     "oneflow 25c8978",
     "OneFlow's dynamic loss scale",
     Driver::overflow,
     oneflow_parameters,
     oneflow_fields,
     defaults<&RuleParams::oneflow>,
     nullptr},
    {PolicyId::keras,
     "keras",
     {},
     {},
     "keras 3.15.1",
     "Keras 3's LossScaleOptimizer",
     Driver::overflow,
     keras_parameters,
     keras_fields,
     defaults<&RuleParams::keras>,
     nullptr},
    {PolicyId::tf_keras,
     "tf_keras",
     {},
     {},
     "tf_keras 2.21.0",
     "tf-keras' dynamic loss scale",
     Driver::overflow,
     tf_keras_parameters,
     tf_keras_fields,
     defaults<&RuleParams::tf_keras>,
     nullptr},
    {PolicyId::flax,
     "flax",
     {},
     {},
     "flax 0.12.8",
     "flax's DynamicScale",
     Driver::overflow,
     flax_parameters,
     flax_fields,
     defaults<&RuleParams::flax>,
     nullptr},
    {PolicyId::jmp,
     "jmp",
     {},
     {},
     "jmp 0.0.4",
     "jmp's DynamicLossScale",
     Driver::overflow,
     jmp_parameters,
     jmp_fields,
     defaults<&RuleParams::jmp>,
     nullptr},
    {PolicyId::constant,
     "constant",
     {},
     {},
     "tare",
     "a scale that never moves",
     Driver::overflow,
     constant_parameters,
     constant_fields,
     defaults<&RuleParams::constant>,
     nullptr},
    {PolicyId::layerwise,
     "layerwise",
     {},
     {},
     "arXiv 1910.12385",
     "a scale a layer, from statistics",
     Driver::statistics,
     layerwise_parameters,
     layerwise_fields,
     defaults<&RuleParams::layerwise>,
     nullptr},
};

}  // namespace

std::span<const PolicySpec> other_policies() {
  return other_specs;
}

}  // namespace tare::rule
