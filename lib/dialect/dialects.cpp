// The table of dialects, and what it says of a role that a state does not hold.
#include <fmt/format.h>

#include <array>

#include "lib/dialect/shapes.hpp"

namespace tare {
namespace {

// A shape that has another one's keys and more stands before it.
constexpr auto table = std::to_array<const Dialect*>({
    &tare_state,
    &nemo_state,
    &torch_state,
    &torch_object,
    &megatron_state,
    &deepspeed_part,
    &deepspeed_object,
    &megatron_object,
    &apex_amp_state,
    &apex_amp_object,
    &apex_part,
    &apex_object,
    &fairseq_part,
    &colossalai_state,
    &mindspore_cell,
    &mindspore_amp_scaler,
    &mindformers_adaptive_cell,
    &mindformers_common_part,
    &paddle_state,
    &paddle_static_variables,
    &keras_variables,
    &keras_legacy,
    &keras_float8,
    &tf_keras_part,
    &tf_contrib_part,
    &flax_state,
    &flax_fp8,
    &jmp_state,
    &jmp_object,
    &transformer_engine_state,
    &torchao_delayed_state,
    &torchao_weight,
    &msamp_tensor,
    &deepseek_fp8_weight,
    &compressed_tensors_weight,
    &compressed_tensors_fp4_weight,
    &modelopt_weight,
    &mxfp4_weight,
    &comfyui_weight,
    &torchao_flat_weight,
});

}  // namespace

std::span<const Dialect* const> dialects() {
  return table;
}

std::string how_it_is_set(const Dialect& dialect, Role role) {
  for (const Setting& setting : dialect.settings) {
    if (setting.role == role) return std::string(setting.sentence);
  }
  return fmt::format("{} has none: {}.", dialect.framework, facts(role).meaning);
}

}  // namespace tare
