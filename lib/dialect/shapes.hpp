// Every dialect's name inside this room; each is defined in its framework's file.
#pragma once

#include "lib/dialect/dialect.hpp"

namespace tare {

extern const Dialect tare_state;
extern const Dialect torch_state;
extern const Dialect torch_object;
extern const Dialect nemo_state;
extern const Dialect megatron_state;
extern const Dialect megatron_object;
extern const Dialect deepspeed_part;
extern const Dialect deepspeed_object;
extern const Dialect apex_amp_state;
extern const Dialect apex_amp_object;
extern const Dialect apex_part;
extern const Dialect apex_object;
extern const Dialect fairseq_part;
extern const Dialect colossalai_state;
extern const Dialect mindspore_cell;
extern const Dialect mindspore_amp_scaler;
extern const Dialect mindformers_adaptive_cell;
extern const Dialect mindformers_common_part;
extern const Dialect paddle_state;
extern const Dialect paddle_static_variables;
extern const Dialect keras_variables;
extern const Dialect keras_legacy;
extern const Dialect keras_float8;
extern const Dialect tf_keras_part;
extern const Dialect tf_contrib_part;
extern const Dialect flax_state;
extern const Dialect flax_fp8;
extern const Dialect jmp_state;
extern const Dialect jmp_object;
extern const Dialect transformer_engine_state;
extern const Dialect torchao_delayed_state;
extern const Dialect torchao_weight;
extern const Dialect msamp_tensor;
extern const Dialect deepseek_fp8_weight;
extern const Dialect compressed_tensors_weight;
extern const Dialect compressed_tensors_fp4_weight;
extern const Dialect modelopt_weight;
extern const Dialect mxfp4_weight;
extern const Dialect comfyui_weight;
extern const Dialect torchao_flat_weight;

}  // namespace tare
