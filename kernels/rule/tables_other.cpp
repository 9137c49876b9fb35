// The policies of MindSpore, Paddle, OneFlow, Keras and JAX, the constant one, and the one that follows statistics.
#include "kernels/rule/tables.hpp"

namespace tare::rule {
namespace {

using namespace table;

template <auto kMember>
using Mindspore = Parameter<&RuleParams::mindspore, kMember>;
template <auto kMember>
using Amp = Parameter<&RuleParams::mindspore_amp, kMember>;
template <auto kMember>
using Manager = Parameter<&RuleParams::mindspore_manager, kMember>;
template <auto kMember>
using Adaptive = Parameter<&RuleParams::mindformers_adaptive, kMember>;
template <auto kMember>
using Paper = Parameter<&RuleParams::mindformers_adaptive_paper, kMember>;
template <auto kMember>
using AdaptiveField = Field<&RuleState::mindformers_adaptive, kMember>;
template <auto kMember>
using Paddle = Parameter<&RuleParams::paddle, kMember>;
template <auto kMember>
using PaddleStatic = Parameter<&RuleParams::paddle_static, kMember>;
template <auto kMember>
using Flax = Parameter<&RuleParams::flax, kMember>;
template <auto kMember>
using Oneflow = Parameter<&RuleParams::oneflow, kMember>;
template <auto kMember>
using Jmp = Parameter<&RuleParams::jmp, kMember>;
template <auto kMember>
using Layerwise = Parameter<&RuleParams::layerwise, kMember>;

constexpr Unset kNoFloor{"null", {NumberKind::kReal, 0, -__builtin_inf()}};
constexpr Unset kFirstOfList{"null", {NumberKind::kInteger, 0, 0.0}};
constexpr Unset kNotGiven{"null", {NumberKind::kReal, 0, __builtin_nan("")}};

constexpr ParameterSpec kMindsporeParameters[] = {
    Mindspore<&MindsporeParams::loss_scale_value>::spec("loss_scale_value", "initial_scale", single_scale(),
                                                        "scale of a fresh scaler"),
    Mindspore<&MindsporeParams::scale_factor>::spec("scale_factor", "growth_factor", above(0),
                                                    "multiplier at growth, divisor at an overflow"),
    Mindspore<&MindsporeParams::scale_window>::spec("scale_window", "growth_interval", at_least(1),
                                                    "clean steps that a growth needs"),
};
constexpr FieldSpec kMindsporeFields[] = {
    Field<&RuleState::mindspore, &MindsporeState::scale>::spec("scale_sense", "scale"),
    Field<&RuleState::mindspore, &MindsporeState::current_iterator_step>::spec("current_iterator_step", "step"),
    Field<&RuleState::mindspore, &MindsporeState::last_overflow_iterator_step>::spec("last_overflow_iterator_step",
                                                                                     "last_overflow_step"),
};

constexpr ParameterSpec kFixedParameters[] = {
    Parameter<&RuleParams::constant, &ConstantParams::initial_scale>::spec("loss_scale_value", "initial_scale",
                                                                           single_scale(), "the scale"),
};
constexpr FieldSpec kFixedFields[] = {
    Field<&RuleState::constant, &ConstantState::scale>::spec("scale_sense", "scale"),
};

constexpr ParameterSpec kAmpParameters[] = {
    Amp<&MindsporeAmpParams::scale_value>::spec("scale_value", "initial_scale", single_scale_from(1),
                                                "scale of a fresh scaler"),
    Amp<&MindsporeAmpParams::scale_factor>::spec("scale_factor", "growth_factor", above(0),
                                                 "multiplier at growth, divisor at an overflow"),
    Amp<&MindsporeAmpParams::scale_window>::spec("scale_window", "growth_interval", at_least(1),
                                                 "clean steps that a growth needs"),
};
constexpr FieldSpec kAmpFields[] = {
    Field<&RuleState::mindspore_amp, &MindsporeAmpState::scale>::spec("scale_value", "scale"),
    Field<&RuleState::mindspore_amp, &MindsporeAmpState::counter>::spec("counter", "growth_tracker"),
};

constexpr ParameterSpec kManagerParameters[] = {
    Manager<&MindsporeManagerParams::init_loss_scale>::spec("init_loss_scale", "initial_scale", at_least(1),
                                                            "scale of a fresh scaler"),
    Manager<&MindsporeManagerParams::scale_factor>::spec("scale_factor", "growth_factor", above(0),
                                                         "multiplier at growth, divisor at an overflow"),
    Manager<&MindsporeManagerParams::scale_window>::spec("scale_window", "growth_interval", at_least(1),
                                                         "steps between growths"),
    Manager<&MindsporeManagerParams::bad_step_max>::spec("bad_step_max", {}, at_least(0),
                                                         "more overflows in a row than this stop the run"),
};
constexpr FieldSpec kManagerFields[] = {
    Field<&RuleState::mindspore_manager, &MindsporeManagerState::scale>::spec("loss_scale", "scale"),
    Field<&RuleState::mindspore_manager, &MindsporeManagerState::cur_iter>::spec("cur_iter", "step"),
    Field<&RuleState::mindspore_manager, &MindsporeManagerState::last_overflow_iter>::spec("last_overflow_iter",
                                                                                           "last_overflow_step"),
    Field<&RuleState::mindspore_manager, &MindsporeManagerState::bad_step>::spec("bad_step", {}),
};

constexpr ParameterSpec kAdaptiveParameters[] = {
    Adaptive<&MindformersAdaptiveParams::loss_scale_value>::spec("loss_scale_value", "initial_scale", single_scale(),
                                                                 "scale of a fresh scaler"),
    Adaptive<&MindformersAdaptiveParams::scale_factor>::spec("scale_factor", "growth_factor", above(0),
                                                             "multiplier at growth, divisor at an overflow"),
    Adaptive<&MindformersAdaptiveParams::scale_window>::spec(
        "scale_window", "growth_interval", at_least(1),
        "window at the start; by default, and where the list lacks it, the first of the list", kFirstOfList),
    Adaptive<&MindformersAdaptiveParams::max_scale_window>::spec("max_scale_window", {}, at_least(1),
                                                                 "greatest window of the list"),
    Adaptive<&MindformersAdaptiveParams::min_scale_window>::spec("min_scale_window", {}, at_least(1),
                                                                 "smallest window of the list"),
    ListParameter<&RuleParams::mindformers_adaptive, &MindformersAdaptiveParams::window_list>::spec(
        "window_list", "window_list", "windows, ascending; by default as the greatest and the smallest give it"),
};
constexpr ParameterSpec kPaperParameters[] = {
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
constexpr FieldSpec kAdaptiveFields[] = {
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

constexpr ParameterSpec kPaddleParameters[] = {
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
constexpr FieldSpec kPaddleFields[] = {
    Field<&RuleState::paddle, &PaddleState::scale>::spec("scale", "scale"),
    Field<&RuleState::paddle, &PaddleState::incr_count>::spec("incr_count", "growth_tracker"),
    Field<&RuleState::paddle, &PaddleState::decr_count>::spec("decr_count", "overflow_tracker"),
};

constexpr ParameterSpec kPaddleStaticParameters[] = {
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
constexpr FieldSpec kPaddleStaticFields[] = {
    Field<&RuleState::paddle_static, &PaddleStaticState::scale>::spec("loss_scaling", "scale", "loss_scaling_0"),
    Field<&RuleState::paddle_static, &PaddleStaticState::num_good_steps>::spec("num_good_steps", "growth_tracker",
                                                                               "num_good_steps_0"),
    Field<&RuleState::paddle_static, &PaddleStaticState::num_bad_steps>::spec("num_bad_steps", "overflow_tracker",
                                                                              "num_bad_steps_0"),
};

constexpr ParameterSpec kOneflowParameters[] = {
    Oneflow<&OneflowParams::init_scale>::spec("init_scale", "initial_scale", single_scale(), "scale of a fresh scaler"),
    Oneflow<&OneflowParams::growth_factor>::spec("growth_factor", "growth_factor", above(0),
                                                 "multiplier at growth, divisor at an overflow"),
    Oneflow<&OneflowParams::growth_interval>::spec("growth_interval", "growth_interval", at_least(1),
                                                   "clean steps that a growth needs"),
};
constexpr FieldSpec kOneflowFields[] = {
    Field<&RuleState::oneflow, &OneflowState::scale>::spec("LossScale", "scale"),
    Field<&RuleState::oneflow, &OneflowState::good_step_counter>::spec("GoodStepCounter", "growth_tracker"),
};

constexpr ParameterSpec kKerasParameters[] = {
    Parameter<&RuleParams::keras, &KerasParams::initial_scale>::spec("initial_scale", "initial_scale", single_scale(),
                                                                     "scale of a fresh scaler"),
    Parameter<&RuleParams::keras, &KerasParams::dynamic_growth_steps>::spec(
        "dynamic_growth_steps", "growth_interval", at_least(0), "clean steps that a growth needs"),
};
constexpr FieldSpec kKerasFields[] = {
    Field<&RuleState::keras, &KerasState::scale>::spec("dynamic_scale", "scale"),
    Field<&RuleState::keras, &KerasState::step_counter>::spec("step_counter", "growth_tracker"),
};

constexpr ParameterSpec kTfKerasParameters[] = {
    Parameter<&RuleParams::tf_keras, &TfKerasParams::initial_loss_scale>::spec(
        "initial_loss_scale", "initial_scale", single_scale(), "scale of a fresh scaler"),
    Parameter<&RuleParams::tf_keras, &TfKerasParams::growth_steps>::spec("growth_steps", "growth_interval", at_least(1),
                                                                         "clean steps that a growth needs"),
    Parameter<&RuleParams::tf_keras, &TfKerasParams::multiplier>::spec("multiplier", "growth_factor", above(0),
                                                                       "multiplier at growth, divisor at an overflow"),
};
constexpr FieldSpec kTfKerasFields[] = {
    Field<&RuleState::tf_keras, &TfKerasState::scale>::spec("current_loss_scale", "scale"),
    Field<&RuleState::tf_keras, &TfKerasState::good_steps>::spec("good_steps", "growth_tracker"),
};

constexpr ParameterSpec kFlaxParameters[] = {
    Flax<&FlaxParams::scale>::spec("scale", "initial_scale", single_scale(), "scale of a fresh scaler"),
    Flax<&FlaxParams::growth_factor>::spec("growth_factor", "growth_factor", above(0), "multiplier at growth"),
    Flax<&FlaxParams::backoff_factor>::spec("backoff_factor", "backoff_factor", above(0), "multiplier at an overflow"),
    Flax<&FlaxParams::growth_interval>::spec("growth_interval", "growth_interval", at_least(0),
                                             "clean steps before the one that grows"),
    Flax<&FlaxParams::minimum_scale>::spec("minimum_scale", "min_scale", any(), "floor", kNoFloor),
};
constexpr FieldSpec kFlaxFields[] = {
    Field<&RuleState::flax, &FlaxState::scale>::spec("scale", "scale"),
    Field<&RuleState::flax, &FlaxState::fin_steps>::spec("fin_steps", "growth_tracker"),
};

constexpr Word kJmpTypes[] = {{"float32", static_cast<int32_t>(Dtype::kF32)},
                              {"float16", static_cast<int32_t>(Dtype::kF16)},
                              {"bfloat16", static_cast<int32_t>(Dtype::kBf16)}};
constexpr ParameterSpec kJmpParameters[] = {
    Jmp<&JmpParams::loss_scale>::spec("loss_scale", "initial_scale", single_scale(), "scale of a fresh scaler"),
    Jmp<&JmpParams::period>::spec("period", "growth_interval", at_least(1), "clean steps that a growth needs"),
    Jmp<&JmpParams::factor>::spec("factor", "growth_factor", above(0), "multiplier at growth, divisor at an overflow"),
    Jmp<&JmpParams::min_loss_scale>::spec("min_loss_scale", "min_scale", any(), "floor; 1 in float32 unless given",
                                          kNotGiven),
    Jmp<&JmpParams::dtype>::spec("dtype", {}, any(), "type of the scale", {}, kJmpTypes),
};
constexpr FieldSpec kJmpFields[] = {
    Field<&RuleState::jmp, &JmpState::scale>::spec("loss_scale", "scale"),
    Field<&RuleState::jmp, &JmpState::counter>::spec("counter", "growth_tracker"),
};

constexpr ParameterSpec kConstantParameters[] = {
    Parameter<&RuleParams::constant, &ConstantParams::initial_scale>::spec("initial_scale", "initial_scale",
                                                                           single_scale(), "the scale"),
};
constexpr FieldSpec kConstantFields[] = {
    Field<&RuleState::constant, &ConstantState::scale>::spec("scale", "scale"),
};

constexpr ParameterSpec kLayerwiseParameters[] = {
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
constexpr FieldSpec kLayerwiseFields[] = {
    Field<&RuleState::layerwise, &LayerwiseState::scale>::spec("scale", "scale"),
    Field<&RuleState::layerwise, &LayerwiseState::accumulated>::spec("accumulated", {}),
    Field<&RuleState::layerwise, &LayerwiseState::unbound>::spec("unbound", {}),
    Field<&RuleState::layerwise, &LayerwiseState::cur_iter>::spec("cur_iter", "step"),
};

constexpr PolicySpec kPolicies[] = {
    {PolicyId::kMindspore, "mindspore", "dynamic", "kind", "mindspore 2.10.0", "MindSpore's DynamicLossScaleUpdateCell",
     Driver::kOverflow, kMindsporeParameters, kMindsporeFields, defaults<&RuleParams::mindspore>, nullptr},
    {PolicyId::kMindsporeFixed, "mindspore", "fixed", "kind", "mindspore 2.10.0",
     "MindSpore's FixedLossScaleUpdateCell", Driver::kOverflow, kFixedParameters, kFixedFields,
     defaults<&RuleParams::constant>, nullptr},
    {PolicyId::kMindsporeAmp,
     "mindspore_amp",
     {},
     {},
     "mindspore 2.10.0",
     "mindspore.amp.DynamicLossScaler",
     Driver::kOverflow,
     kAmpParameters,
     kAmpFields,
     defaults<&RuleParams::mindspore_amp>,
     nullptr},
    {PolicyId::kMindsporeManager,
     "mindspore_manager",
     {},
     {},
     "mindspore 2.10.0",
     "MindSpore's DynamicLossScaleManager",
     Driver::kOverflow,
     kManagerParameters,
     kManagerFields,
     defaults<&RuleParams::mindspore_manager>,
     nullptr},
    {PolicyId::kMindformersAdaptive,
     "mindformers_adaptive",
     {},
     {},
     "mindformers 2.1.0",
     "mindformers' AdaptiveLossScaleUpdateCell",
     Driver::kOverflow,
     kAdaptiveParameters,
     kAdaptiveFields,
     defaults<&RuleParams::mindformers_adaptive>,
     adaptive_relation},
    {PolicyId::kMindformersAdaptivePaper, "mindformers_adaptive", "paper", "variant",
     "the rule as its authors describe it", "the adaptive window as its authors describe it", Driver::kOverflow,
     kPaperParameters, kAdaptiveFields, defaults<&RuleParams::mindformers_adaptive_paper>, nullptr},
    {PolicyId::kPaddle,
     "paddle",
     {},
     {},
     "paddlepaddle 3.3.1",
     "paddle.amp.GradScaler",
     Driver::kOverflow,
     kPaddleParameters,
     kPaddleFields,
     defaults<&RuleParams::paddle>,
     nullptr},
    {PolicyId::kPaddleStatic,
     "paddle_static",
     {},
     {},
     "paddlepaddle 3.3.1",
     "Paddle's update_loss_scaling operator",
     Driver::kOverflow,
     kPaddleStaticParameters,
     kPaddleStaticFields,
     defaults<&RuleParams::paddle_static>,
     nullptr},
    {PolicyId::kOneflow,
     "oneflow",
     {},
     {},
     "oneflow 25c8978",
     "OneFlow's dynamic loss scale",
     Driver::kOverflow,
     kOneflowParameters,
     kOneflowFields,
     defaults<&RuleParams::oneflow>,
     nullptr},
    {PolicyId::kKeras,
     "keras",
     {},
     {},
     "keras 3.15.1",
     "Keras 3's LossScaleOptimizer",
     Driver::kOverflow,
     kKerasParameters,
     kKerasFields,
     defaults<&RuleParams::keras>,
     nullptr},
    {PolicyId::kTfKeras,
     "tf_keras",
     {},
     {},
     "tf_keras 2.21.0",
     "tf-keras' dynamic loss scale",
     Driver::kOverflow,
     kTfKerasParameters,
     kTfKerasFields,
     defaults<&RuleParams::tf_keras>,
     nullptr},
    {PolicyId::kFlax,
     "flax",
     {},
     {},
     "flax 0.12.8",
     "flax's DynamicScale",
     Driver::kOverflow,
     kFlaxParameters,
     kFlaxFields,
     defaults<&RuleParams::flax>,
     nullptr},
    {PolicyId::kJmp,
     "jmp",
     {},
     {},
     "jmp 0.0.4",
     "jmp's DynamicLossScale",
     Driver::kOverflow,
     kJmpParameters,
     kJmpFields,
     defaults<&RuleParams::jmp>,
     nullptr},
    {PolicyId::kConstant,
     "constant",
     {},
     {},
     "tare",
     "a scale that never moves",
     Driver::kOverflow,
     kConstantParameters,
     kConstantFields,
     defaults<&RuleParams::constant>,
     nullptr},
    {PolicyId::kLayerwise,
     "layerwise",
     {},
     {},
     "arXiv 1910.12385",
     "a scale a layer, from statistics",
     Driver::kStatistics,
     kLayerwiseParameters,
     kLayerwiseFields,
     defaults<&RuleParams::layerwise>,
     nullptr},
};

}  // namespace

std::span<const PolicySpec> other_policies() {
  return kPolicies;
}

}  // namespace tare::rule
