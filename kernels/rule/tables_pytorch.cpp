// The policies of PyTorch trainers.
#include "kernels/rule/tables.hpp"

namespace tare::rule {
namespace {

using namespace table;

// One line a parameter: P<slot, &Struct::member>::spec(name, role, range, meaning).
template <auto Member>
using Torch = Parameter<&RuleParams::torch, Member>;
template <auto Member>
using Hysteresis = Parameter<&RuleParams::apex_hysteresis, Member>;
template <auto Member>
using Apex = Parameter<&RuleParams::apex, Member>;
template <auto Member>
using Contrib = Parameter<&RuleParams::apex_contrib, Member>;
template <auto Member>
using Utils = Parameter<&RuleParams::apex_fp16_utils, Member>;
template <auto Member>
using Megatron = Parameter<&RuleParams::megatron, Member>;
template <auto Member>
using Zero = Parameter<&RuleParams::deepspeed_zero, Member>;
template <auto Member>
using Wrapper = Parameter<&RuleParams::deepspeed_wrapper, Member>;
template <auto Member>
using Fairseq = Parameter<&RuleParams::fairseq, Member>;
template <auto Member>
using Colossalai = Parameter<&RuleParams::colossalai, Member>;
template <auto Member>
using Bmtrain = Parameter<&RuleParams::bmtrain, Member>;
template <auto Member>
using TorchNpu = Parameter<&RuleParams::torch_npu, Member>;

constexpr Unset no_ceiling{"null", {NumberKind::real, 0, __builtin_inf()}};

constexpr ParameterSpec torch_parameters[] = {
    Torch<&TorchParams::init_scale>::spec("init_scale", "initial_scale", single_scale(), "scale of a fresh scaler"),
    Torch<&TorchParams::growth_factor>::spec("growth_factor", "growth_factor", above(1), "multiplier at growth"),
    Torch<&TorchParams::backoff_factor>::spec("backoff_factor", "backoff_factor", below(1),
                                              "multiplier at an overflow"),
    Torch<&TorchParams::growth_interval>::spec("growth_interval", "growth_interval", at_least(1),
                                               "clean steps that a growth needs"),
};
constexpr FieldSpec torch_fields[] = {
    Field<&RuleState::torch, &TorchState::scale>::spec("scale", "scale"),
    Field<&RuleState::torch, &TorchState::growth_tracker>::spec("_growth_tracker", "growth_tracker", "growth_tracker"),
};

constexpr ParameterSpec hysteresis_parameters[] = {
    Hysteresis<&NemoParams::init_scale>::spec("init_scale", "initial_scale", single_scale(), "scale of a fresh scaler"),
    Hysteresis<&NemoParams::growth_factor>::spec("growth_factor", "growth_factor", above(1), "multiplier at growth"),
    Hysteresis<&NemoParams::backoff_factor>::spec("backoff_factor", "backoff_factor", below(1),
                                                  "multiplier at a back-off"),
    Hysteresis<&NemoParams::growth_interval>::spec("growth_interval", "growth_interval", at_least(1),
                                                   "clean steps that a growth needs"),
    Hysteresis<&NemoParams::hysteresis>::spec("hysteresis", "hysteresis", at_least(0),
                                              "overflows in a row that a back-off needs"),
};
constexpr FieldSpec hysteresis_fields[] = {
    Field<&RuleState::apex_hysteresis, &NemoState::scale>::spec("scale", "scale"),
    Field<&RuleState::apex_hysteresis, &NemoState::growth_tracker>::spec("growth_tracker", "growth_tracker",
                                                                         "_growth_tracker"),
    Field<&RuleState::apex_hysteresis, &NemoState::hysteresis_tracker>::spec("hysteresis_tracker", "hysteresis_tracker",
                                                                             "_hysteresis_tracker"),
};

constexpr ParameterSpec apex_parameters[] = {
    Apex<&ApexParams::loss_scale>::spec("loss_scale", {}, above(0), "a fixed scale, or \"dynamic\"",
                                        {"dynamic", {NumberKind::real, 0, __builtin_nan("")}}),
    Apex<&ApexParams::init_scale>::spec("init_scale", "initial_scale", above(0), "scale of a fresh dynamic scaler"),
    Apex<&ApexParams::min_loss_scale>::spec("min_loss_scale", "min_scale", at_least(0), "floor; 0 is none",
                                            {"null", {NumberKind::real, 0, 0.0}}),
    Apex<&ApexParams::max_loss_scale>::spec("max_loss_scale", "max_scale", above(0), "ceiling"),
    Apex<&ApexParams::scale_window>::spec("scale_window", "growth_interval", at_least(1),
                                          "clean steps that a growth needs"),
    Apex<&ApexParams::scale_factor>::spec("scale_factor", {}, any(), "taken and ignored: apex always uses 2"),
};
constexpr FieldSpec apex_fields[] = {
    Field<&RuleState::apex, &ApexState::scale>::spec("loss_scale", "scale"),
    Field<&RuleState::apex, &ApexState::unskipped>::spec("unskipped", "growth_tracker"),
};

constexpr ParameterSpec contrib_parameters[] = {
    Contrib<&ApexContribParams::dynamic_loss_scale>::spec("dynamic_loss_scale", "dynamic", any(),
                                                          "whether the scale moves"),
    Contrib<&ApexContribParams::init_scale>::spec("init_scale", "initial_scale", above(0),
                                                  "scale of a fresh dynamic scaler"),
    Contrib<&ApexContribParams::static_loss_scale>::spec("static_loss_scale", {}, above(0),
                                                         "the scale where it does not move"),
    Contrib<&ApexContribParams::scale_factor>::spec("scale_factor", "growth_factor", above(1),
                                                    "multiplier at growth, divisor at an overflow"),
    Contrib<&ApexContribParams::scale_window>::spec("scale_window", "growth_interval", at_least(1),
                                                    "steps between growths"),
};
bool contrib_is_dynamic(const RuleParams& params) {
  return params.apex_contrib.dynamic_loss_scale;
}
constexpr FieldSpec contrib_fields[] = {
    Field<&RuleState::apex_contrib, &ApexContribState::scale>::spec("cur_scale", "scale"),
    Field<&RuleState::apex_contrib, &ApexContribState::cur_iter>::spec("cur_iter", "step"),
    Field<&RuleState::apex_contrib, &ApexContribState::last_overflow_iter>::spec(
        "last_overflow_iter", "last_overflow_step", {}, contrib_is_dynamic),
};

constexpr ParameterSpec utils_parameters[] = {
    Utils<&ApexFp16UtilsParams::init_scale>::spec("init_scale", "initial_scale", above(0), "scale of a fresh scaler"),
    Utils<&ApexFp16UtilsParams::scale_factor>::spec("scale_factor", "growth_factor", above(1),
                                                    "multiplier at growth, divisor at an overflow"),
    Utils<&ApexFp16UtilsParams::scale_window>::spec("scale_window", "growth_interval", at_least(1),
                                                    "steps between growths"),
};
constexpr FieldSpec utils_fields[] = {
    Field<&RuleState::apex_fp16_utils, &ApexFp16UtilsState::scale>::spec("cur_scale", "scale"),
    Field<&RuleState::apex_fp16_utils, &ApexFp16UtilsState::cur_iter>::spec("cur_iter", "step"),
    Field<&RuleState::apex_fp16_utils, &ApexFp16UtilsState::last_overflow_iter>::spec("last_overflow_iter",
                                                                                      "last_overflow_step"),
};

constexpr ParameterSpec megatron_parameters[] = {
    Megatron<&MegatronParams::initial_scale>::spec("initial_scale", "initial_scale", single_scale(),
                                                   "scale of a fresh scaler"),
    Megatron<&MegatronParams::min_scale>::spec("min_scale", "min_scale", single_scale(), "floor"),
    Megatron<&MegatronParams::growth_factor>::spec("growth_factor", "growth_factor", above(1), "multiplier at growth"),
    Megatron<&MegatronParams::backoff_factor>::spec("backoff_factor", "backoff_factor", inside(0, 1),
                                                    "multiplier at a back-off"),
    Megatron<&MegatronParams::growth_interval>::spec("growth_interval", "growth_interval", at_least(1),
                                                     "clean steps that a growth needs"),
    Megatron<&MegatronParams::hysteresis>::spec("hysteresis", "hysteresis", at_least(1),
                                                "overflows since the last growth that a back-off needs"),
};
const char* megatron_relation(const RuleParams& params) {
  return params.megatron.min_scale <= params.megatron.initial_scale ? nullptr
                                                                    : "min_scale is greater than initial_scale";
}
constexpr FieldSpec megatron_fields[] = {
    Field<&RuleState::megatron, &MegatronState::scale>::spec("scale", "scale"),
    Field<&RuleState::megatron, &MegatronState::growth_tracker>::spec("growth_tracker", "growth_tracker"),
    Field<&RuleState::megatron, &MegatronState::hysteresis_tracker>::spec("hysteresis_tracker", "hysteresis_tracker"),
};

// The constant scaler saves {}: its scale is the configuration's.
constexpr ParameterSpec megatron_constant_parameters[] = {
    Parameter<&RuleParams::constant, &ConstantParams::initial_scale>::spec("loss_scale", "scale", single_scale(),
                                                                           "the scale"),
};
RuleParams no_scaler() {
  RuleParams params = defaults<&RuleParams::constant>();
  params.constant.skips_overflows = false;
  return params;
}

constexpr ParameterSpec zero_parameters[] = {
    Zero<&DeepspeedZeroParams::init_scale>::spec("init_scale", "initial_scale", above(0), "scale of a fresh scaler"),
    Zero<&DeepspeedZeroParams::scale_window>::spec("scale_window", "growth_interval", at_least(1),
                                                   "steps between growths"),
    Zero<&DeepspeedZeroParams::min_scale>::spec("min_scale", "min_scale", above(0), "floor"),
    Zero<&DeepspeedZeroParams::delayed_shift>::spec("delayed_shift", "hysteresis", at_least(1),
                                                    "overflows that a back-off needs"),
    Zero<&DeepspeedZeroParams::consecutive_hysteresis>::spec("consecutive_hysteresis", {}, any(),
                                                             "whether a clean step fills the hysteresis"),
    Zero<&DeepspeedZeroParams::raise_error_at_min_scale>::spec("raise_error_at_min_scale", {}, any(),
                                                               "whether an overflow at min_scale stops the run"),
    Zero<&DeepspeedZeroParams::scale_factor>::spec("scale_factor", "growth_factor", above(1),
                                                   "multiplier at growth, divisor at a back-off"),
};
constexpr FieldSpec zero_fields[] = {
    Field<&RuleState::deepspeed_zero, &DeepspeedZeroState::scale>::spec("cur_scale", "scale"),
    Field<&RuleState::deepspeed_zero, &DeepspeedZeroState::cur_iter>::spec("cur_iter", "step"),
    Field<&RuleState::deepspeed_zero, &DeepspeedZeroState::last_overflow_iter>::spec("last_overflow_iter",
                                                                                     "last_overflow_step"),
    Field<&RuleState::deepspeed_zero, &DeepspeedZeroState::cur_hysteresis>::spec("cur_hysteresis",
                                                                                 "hysteresis_tracker"),
};

constexpr ParameterSpec wrapper_parameters[] = {
    Wrapper<&DeepspeedWrapperParams::dynamic_loss_scale>::spec("dynamic_loss_scale", "dynamic", any(),
                                                               "whether the scale moves"),
    Wrapper<&DeepspeedWrapperParams::scale_factor>::spec("scale_factor", "growth_factor", above(1),
                                                         "multiplier at growth, divisor at an overflow", {"null", {}}),
    Wrapper<&DeepspeedWrapperParams::init_scale>::spec("init_scale", "initial_scale", above(0),
                                                       "scale of a fresh dynamic scaler"),
    Wrapper<&DeepspeedWrapperParams::scale_window>::spec("scale_window", "growth_interval", at_least(1),
                                                         "steps between growths"),
    Wrapper<&DeepspeedWrapperParams::min_scale>::spec("min_scale", "min_scale", above(0), "floor"),
    Wrapper<&DeepspeedWrapperParams::loss_scale>::spec("loss_scale", {}, above(0), "the scale where it does not move"),
};
bool wrapper_is_dynamic(const RuleParams& params) {
  return params.deepspeed_wrapper.dynamic_loss_scale;
}
const char* wrapper_relation(const RuleParams& params) {
  const DeepspeedWrapperParams& own = params.deepspeed_wrapper;
  const bool missing = own.dynamic_loss_scale && own.scale_factor.kind == NumberKind::none;
  return missing ? "scale_factor is null, which only a scale that does not move allows" : nullptr;
}
constexpr FieldSpec wrapper_fields[] = {
    Field<&RuleState::deepspeed_wrapper, &DeepspeedWrapperState::scale>::spec("cur_scale", "scale"),
    Field<&RuleState::deepspeed_wrapper, &DeepspeedWrapperState::cur_iter>::spec("cur_iter", "step"),
    Field<&RuleState::deepspeed_wrapper, &DeepspeedWrapperState::last_overflow_iter>::spec(
        "last_overflow_iter", "last_overflow_step", {}, wrapper_is_dynamic),
};

constexpr ParameterSpec static_parameters[] = {
    Parameter<&RuleParams::deepspeed_static, &DeepspeedStaticParams::scale>::spec("scale", "initial_scale", above(0),
                                                                                  "the scale"),
};
constexpr FieldSpec static_fields[] = {
    Field<&RuleState::deepspeed_static, &DeepspeedStaticState::scale>::spec("cur_scale", "scale"),
};

constexpr ParameterSpec fairseq_parameters[] = {
    Fairseq<&FairseqParams::init_scale>::spec("init_scale", "initial_scale", above(0), "scale of a fresh scaler"),
    Fairseq<&FairseqParams::scale_factor>::spec("scale_factor", "growth_factor", above(1),
                                                "multiplier at growth, divisor at a back-off"),
    Fairseq<&FairseqParams::scale_window>::spec("scale_window", "growth_interval", at_least(1),
                                                "steps between growths"),
    Fairseq<&FairseqParams::tolerance>::spec("tolerance", {}, at_least(0),
                                             "share of overflows since the last change that a back-off needs"),
    Fairseq<&FairseqParams::threshold>::spec("threshold", {}, any(), "floor of a back-off", no_floor),
    Fairseq<&FairseqParams::min_loss_scale>::spec("min_loss_scale", "min_scale", at_least(0),
                                                  "a back-off to here or below stops the run"),
};
constexpr FieldSpec fairseq_fields[] = {
    Field<&RuleState::fairseq, &FairseqState::scale>::spec("loss_scale", "scale"),
    Field<&RuleState::fairseq, &FairseqState::iter>::spec("iter", "step"),
    Field<&RuleState::fairseq, &FairseqState::last_overflow_iter>::spec("last_overflow_iter", "last_overflow_step"),
    Field<&RuleState::fairseq, &FairseqState::last_rescale_iter>::spec("last_rescale_iter", {}),
    Field<&RuleState::fairseq, &FairseqState::overflows_since_rescale>::spec("overflows_since_rescale",
                                                                             "overflow_tracker"),
};

constexpr ParameterSpec colossalai_parameters[] = {
    Colossalai<&ColossalaiParams::initial_scale>::spec("initial_scale", "initial_scale", single_scale(),
                                                       "scale of a fresh scaler"),
    Colossalai<&ColossalaiParams::growth_factor>::spec("growth_factor", "growth_factor", above(1),
                                                       "multiplier at growth"),
    Colossalai<&ColossalaiParams::backoff_factor>::spec("backoff_factor", "backoff_factor", inside(0, 1),
                                                        "multiplier at a back-off"),
    Colossalai<&ColossalaiParams::growth_interval>::spec("growth_interval", "growth_interval", at_least(1),
                                                         "clean steps that a growth needs"),
    Colossalai<&ColossalaiParams::min_scale>::spec("min_scale", "min_scale", single_scale(), "floor", no_floor),
    Colossalai<&ColossalaiParams::max_scale>::spec("max_scale", "max_scale", single_scale(), "ceiling", no_ceiling),
    Colossalai<&ColossalaiParams::hysteresis>::spec("hysteresis", "hysteresis", at_least(0),
                                                    "overflows since the last growth that a back-off needs"),
};
const char* colossalai_relation(const RuleParams& params) {
  const ColossalaiParams& own = params.colossalai;
  if (!(own.min_scale <= own.initial_scale)) return "min_scale is greater than initial_scale";
  if (!(own.max_scale >= own.initial_scale)) return "max_scale is smaller than initial_scale";
  return nullptr;
}
constexpr FieldSpec colossalai_fields[] = {
    Field<&RuleState::colossalai, &ColossalaiState::scale>::spec("scale", "scale"),
    Field<&RuleState::colossalai, &ColossalaiState::growth_step>::spec("growth_step", "growth_tracker", "_growth_step"),
    Field<&RuleState::colossalai, &ColossalaiState::hysteresis_step>::spec("hysteresis_step", "overflow_tracker",
                                                                           "_hysteresis_step"),
};

constexpr ParameterSpec bmtrain_parameters[] = {
    Bmtrain<&BmtrainParams::loss_scale>::spec("loss_scale", "initial_scale", above(0), "scale of a fresh scaler"),
    Bmtrain<&BmtrainParams::loss_scale_enabled>::spec("loss_scale_enabled", {}, any(), "whether the loss is scaled"),
    Bmtrain<&BmtrainParams::loss_scale_factor>::spec("loss_scale_factor", "growth_factor", above(0),
                                                     "multiplier at growth, divisor at an overflow"),
    Bmtrain<&BmtrainParams::loss_scale_steps>::spec("loss_scale_steps", "growth_interval", at_least(1),
                                                    "clean steps that a growth needs"),
    Bmtrain<&BmtrainParams::min_loss_scale>::spec("min_loss_scale", "min_scale", any(),
                                                  "an overflow here or below changes nothing"),
    Bmtrain<&BmtrainParams::max_loss_scale>::spec("max_loss_scale", "max_scale", above(0), "no growth from here on",
                                                  no_ceiling),
};
constexpr FieldSpec bmtrain_fields[] = {
    Field<&RuleState::bmtrain, &BmtrainState::scale>::spec("loss_scale", "scale"),
    Field<&RuleState::bmtrain, &BmtrainState::steps_since_last_scale>::spec("steps_since_last_scale", "growth_tracker"),
};

constexpr ParameterSpec torch_npu_parameters[] = {
    TorchNpu<&TorchNpuParams::init_scale>::spec("init_scale", "initial_scale", single_scale(),
                                                "scale of a fresh scaler"),
    TorchNpu<&TorchNpuParams::growth_factor>::spec("growth_factor", "growth_factor", above(1), "multiplier at growth"),
    TorchNpu<&TorchNpuParams::backoff_factor>::spec("backoff_factor", "backoff_factor", below(1),
                                                    "multiplier at an overflow"),
    TorchNpu<&TorchNpuParams::growth_interval>::spec("growth_interval", "growth_interval", at_least(1),
                                                     "clean steps that a growth needs"),
    TorchNpu<&TorchNpuParams::dynamic>::spec("dynamic", "dynamic", any(), "whether the scale moves"),
};
constexpr FieldSpec torch_npu_fields[] = {
    Field<&RuleState::torch_npu, &TorchNpuState::scale>::spec("scale", "scale"),
    Field<&RuleState::torch_npu, &TorchNpuState::growth_tracker>::spec("_growth_tracker", "growth_tracker",
                                                                       "growth_tracker"),
};

/// deepspeed's built-in defaults where the configuration names no dynamic scale.
RuleParams unfused_defaults() {
  RuleParams params = defaults<&RuleParams::deepspeed_wrapper>();
  params.deepspeed_wrapper.init_scale = real_number(65536.0);
  params.deepspeed_wrapper.min_scale = real_number(0.25);
  return params;
}

RuleParams fused_defaults() {
  RuleParams params = defaults<&RuleParams::deepspeed_wrapper>();
  params.deepspeed_wrapper.init_scale = integer_number(4294967296);
  return params;
}

constexpr PolicySpec pytorch_specs[] = {
    {PolicyId::torch,
     "torch",
     {},
     {},
     "torch 2.15.0",
     "torch.amp.GradScaler",
     Driver::overflow,
     torch_parameters,
     torch_fields,
     defaults<&RuleParams::torch>,
     nullptr},
    {PolicyId::apex,
     "apex",
     {},
     {},
     "apex 25.04",
     "apex.amp's LossScaler",
     Driver::overflow,
     apex_parameters,
     apex_fields,
     defaults<&RuleParams::apex>,
     nullptr},
    {PolicyId::apex_contrib,
     "apex_contrib",
     {},
     {},
     "apex 25.04",
     "apex.contrib's FP16_Optimizer",
     Driver::overflow,
     contrib_parameters,
     contrib_fields,
     defaults<&RuleParams::apex_contrib>,
     nullptr},
    {PolicyId::apex_fp16_utils,
     "apex_fp16_utils",
     {},
     {},
     "apex 25.04",
     "apex.fp16_utils' DynamicLossScaler",
     Driver::overflow,
     utils_parameters,
     utils_fields,
     defaults<&RuleParams::apex_fp16_utils>,
     nullptr},
    {PolicyId::apex_hysteresis,
     "apex_hysteresis",
     {},
     {},
     "apex 25.04",
     "apex's update_scale_hysteresis",
     Driver::overflow,
     hysteresis_parameters,
     hysteresis_fields,
     defaults<&RuleParams::apex_hysteresis>,
     nullptr},
    {PolicyId::nemo,
     "nemo",
     {},
     {},
     "NeMo 2.5.0rc0",
     "NeMo's GradScaler with hysteresis",
     Driver::overflow,
     hysteresis_parameters,
     hysteresis_fields,
     defaults<&RuleParams::apex_hysteresis>,
     nullptr},
    {PolicyId::megatron,
     "megatron",
     {},
     {},
     "megatron-core 0.19.2",
     "Megatron's DynamicGradScaler",
     Driver::overflow,
     megatron_parameters,
     megatron_fields,
     defaults<&RuleParams::megatron>,
     megatron_relation},
    {PolicyId::megatron_constant,
     "megatron",
     "constant",
     "variant",
     "megatron-core 0.19.2",
     "Megatron's ConstantGradScaler",
     Driver::overflow,
     megatron_constant_parameters,
     {},
     defaults<&RuleParams::constant>,
     nullptr},
    {PolicyId::megatron_none,
     "megatron",
     "none",
     "variant",
     "megatron-core 0.19.2",
     "Megatron without a scaler: bf16 or fp32",
     Driver::overflow,
     {},
     {},
     no_scaler,
     nullptr},
    {PolicyId::deepspeed_zero, "deepspeed", "zero", "variant", "deepspeed 0.19.8", "DeepSpeed ZeRO's DynamicLossScaler",
     Driver::overflow, zero_parameters, zero_fields, defaults<&RuleParams::deepspeed_zero>, nullptr},
    {PolicyId::deepspeed_fused, "deepspeed", "fused", "variant", "deepspeed 0.19.8", "DeepSpeed's FP16_Optimizer",
     Driver::overflow, wrapper_parameters, wrapper_fields, fused_defaults, wrapper_relation},
    {PolicyId::deepspeed_unfused, "deepspeed", "unfused", "variant", "deepspeed 0.19.8",
     "DeepSpeed's FP16_UnfusedOptimizer", Driver::overflow, wrapper_parameters, wrapper_fields, unfused_defaults,
     wrapper_relation},
    {PolicyId::deepspeed_static, "deepspeed", "static", "variant", "deepspeed 0.19.8", "DeepSpeed's LossScaler",
     Driver::overflow, static_parameters, static_fields, defaults<&RuleParams::deepspeed_static>, nullptr},
    {PolicyId::fairseq,
     "fairseq",
     {},
     {},
     "fairseq 0.12.2",
     "fairseq's DynamicLossScaler",
     Driver::overflow,
     fairseq_parameters,
     fairseq_fields,
     defaults<&RuleParams::fairseq>,
     nullptr},
    {PolicyId::colossalai,
     "colossalai",
     {},
     {},
     "colossalai 0.5.0",
     "ColossalAI's DynamicGradScaler",
     Driver::overflow,
     colossalai_parameters,
     colossalai_fields,
     defaults<&RuleParams::colossalai>,
     colossalai_relation},
    {PolicyId::bmtrain,
     "bmtrain",
     {},
     {},
     "bmtrain 1.0.1",
     "BMTrain's OptimManager",
     Driver::overflow,
     bmtrain_parameters,
     bmtrain_fields,
     defaults<&RuleParams::bmtrain>,
     nullptr},
    {PolicyId::torch_npu,
     "torch_npu",
     {},
     {},
     "torch_npu 2.14.0",
     "torch_npu's GradScaler",
     Driver::overflow,
     torch_npu_parameters,
     torch_npu_fields,
     defaults<&RuleParams::torch_npu>,
     nullptr},
};

}  // namespace

std::span<const PolicySpec> pytorch_policies() {
  return pytorch_specs;
}

}  // namespace tare::rule
