// The table of places. `torch` state is kept by two dozen trainers; the key, the file's name and what else is at the
// file's root tell whose it is.
#include "lib/dialect/place.hpp"

#include <array>

#include "lib/dialect/release_keys.hpp"
#include "lib/dialect/shapes.hpp"

namespace tare {
namespace {

struct Place {
  const Dialect* dialect;
  std::string_view path;      ///< whole, or its beginning where it ends with a star
  std::string_view file;      ///< the file's name, written likewise; empty: any
  std::string_view root_key;  ///< a key that is at the file's root too; empty: no matter
  std::string_view trainer;
  Authority authority = Authority::every_rank;
};

// First fit counts.
constexpr auto places = std::to_array<Place>({
    {&torch_state, "", "scaler.pt", "", "accelerate, or the Hugging Face Trainer"},
    {&torch_state, "", "scaler.ckpt", "", "SpeechBrain"},
    {&torch_state, "amp_scaler", "", "arch", "timm"},
    {&torch_state, "optimizer.loss_scaler", "", "", "mmengine (AmpOptimWrapper)"},
    {&torch_state, "trainer._trainer.grad_scaler", "", "", "detectron2 (DefaultTrainer)"},
    {&torch_state, "trainer.grad_scaler", "", "", "detectron2 (AMPTrainer)"},
    {&torch_state, "state.scaler.*", "", "", "composer"},
    {&torch_state, "scaler", "", "reporter", "espnet"},
    {&torch_state, "grad_scaler", "", "batch_idx_train", "icefall"},
    {&torch_state, "scaler", "", "train_args", "ultralytics"},
    {&torch_state, "scaler", "", "name", "open_clip"},
    {&nemo_state, "MegatronHalfPrecisionPlugin", "", "", "NeMo (MegatronHalfPrecisionPlugin)"},
    {&nemo_state, "MegatronMixedPrecisionPlugin", "", "", "NeMo (MegatronMixedPrecisionPlugin)"},
    {&nemo_state, "native_amp_scaling_state", "", "", "NeMo"},
    {&nemo_state, "*", ".metadata", "", "NeMo"},
    {&megatron_state, "common_state/*", "", "", "Megatron-core, distributed format, common state"},
    {&megatron_state, "optimizer.distributed.dp_group_idx_*", "", "",
     "Megatron-core, distributed format, one data-parallel group", Authority::rank_group},
    {&megatron_state, "chained_*", "", "",
     "Megatron-core, distributed format, one data-parallel group of one optimizer", Authority::rank_group},
    {&megatron_state, "", "shard_*", "", "Megatron-core, distributed format (zarr), one data-parallel group",
     Authority::rank_group},
    {&megatron_state, "*", "model_optim_rng.pt", "", "Megatron-LM, torch format", Authority::own_rank},
    {&megatron_state, "*", "common.pt", "", "Megatron-core, distributed format, common state"},
    {&deepspeed_object, "optimizer_state_dict.loss_scaler", "bf16_*", "",
     "DeepSpeed ZeRO in bfloat16, which does not use it", Authority::own_rank},
    {&deepspeed_object, "optimizer_state_dict.loss_scaler", "", "", "DeepSpeed ZeRO", Authority::own_rank},
    {&deepspeed_part, "optimizer", "", "", "DeepSpeed without ZeRO", Authority::own_rank},
    {&deepspeed_object, "loss_scaler", "optimizer_state.pt", "", "DeepSpeed, universal checkpoint"},
    {&apex_amp_state, "amp.*", "", "", "apex.amp"},
    {&apex_part, "*", "", "", "apex.contrib.optimizers.FP16_Optimizer"},
    {&apex_object, "*", "", "", "apex.fp16_utils.FP16_Optimizer"},
    {&apex_amp_object, "*", "", "", "apex.fp16_utils.FP16_Optimizer"},
    {&megatron_object, "*", "", "", "Megatron-LM before 2.0"},
    {&fairseq_part, "*", "", "", "fairseq"},
    {&colossalai_state, "optimizer.grad_scaler", "", "", "ColossalAI"},
    {&mindformers_adaptive_cell, "", "", "global_batch_size", "mindformers (CheckpointMonitor)"},
    {&mindspore_cell, "", "", "global_batch_size", "mindformers (CheckpointMonitor)"},
    {&mindformers_common_part, "", "common.json", "", "mindformers (common.json), which keeps the scale alone"},
    {&mindformers_common_part, "", "hyper_param.safetensors", "", "MindSpore (unified_safetensors)"},
    {&paddle_state, "", "scaler.pdparams", "", "PaddleNLP's Trainer"},
    {&paddle_static_variables, "*", "loss_scaling_*", "", "paddle.static.io.save_vars"},
    {&torch_state, "*", ".metadata", "", "a run that saves with torch.distributed.checkpoint"},
    {&torch_state, "*", "__*", "", "a run that saves with torch.distributed.checkpoint", Authority::own_rank},
});

bool fits(std::string_view pattern, std::string_view text) {
  if (pattern.empty() || !pattern.ends_with('*')) return pattern == text;
  return text.starts_with(pattern.substr(0, pattern.size() - 1));
}

std::string_view file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

KnownPlace place_of(const FoundScaler& scaler, const FileContext& file, const Tree& tree) {
  if (const ReleaseKey* row = release_key_of(scaler)) return {place_under(*row), Authority::every_rank};
  const NodeId root = tree.fields(tree.root);
  for (const Place& place : places) {
    if (place.dialect != scaler.dialect || !fits(place.path, scaler.path)) continue;
    if (!place.file.empty() && !fits(place.file, file_name(file.name))) continue;
    if (!place.root_key.empty() && tree.find(root, place.root_key) == nowhere) continue;
    return {std::string(place.trainer), place.authority};
  }
  return {};
}

std::string_view name(Authority authority) {
  switch (authority) {
    case Authority::every_rank:
      return "every_rank";
    case Authority::own_rank:
      return "own_rank";
    case Authority::rank_group:
      return "rank_group";
    case Authority::no_rank:
      return "no_rank";
    case Authority::unknown:
      break;
  }
  return {};
}

std::string_view sentence(Authority authority) {
  switch (authority) {
    case Authority::every_rank:
      return "every rank loads this copy";
    case Authority::own_rank:
      return "each rank loads the copy in its own file, so all must be alike";
    case Authority::rank_group:
      return "the ranks of one data-parallel group load this copy, so those of all groups must be alike";
    case Authority::no_rank:
      return "no rank loads this copy: another one comes first";
    case Authority::unknown:
      break;
  }
  return {};
}

}  // namespace tare
