// The table of places. `torch` state is kept by two dozen trainers; the key, the file's name and what else is at the
// file's root tell whose it is.
#include "lib/dialect/place.hpp"

#include <array>

#include "lib/dialect/shapes.hpp"

namespace tare {
namespace {

struct Place {
  const Dialect* dialect;
  std::string_view path;      ///< whole, or its beginning where it ends with a star
  std::string_view file;      ///< the file's name, written likewise; empty: any
  std::string_view root_key;  ///< a key that is at the file's root too; empty: no matter
  std::string_view trainer;
};

// First fit counts.
constexpr auto places = std::to_array<Place>({
    {&torch_state, "MixedPrecision", "", "", "Lightning, 2.1 or newer"},
    {&torch_state, "MixedPrecisionPlugin", "", "", "Lightning, 1.8 to 2.0"},
    {&torch_state, "NativeMixedPrecisionPlugin", "", "", "Lightning, 1.6 and 1.7"},
    {&torch_state, "ShardedNativeMixedPrecisionPlugin", "", "", "Lightning, 1.6 and 1.7"},
    {&torch_state, "native_amp_scaling_state", "", "", "Lightning, 1.5 or older"},
    {&apex_amp_state, "amp_scaling_state.*", "", "", "Lightning, 1.5 or older, with apex.amp"},
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
    {&megatron_state, "*", "model_optim_rng.pt", "", "Megatron-LM, torch format"},
    {&megatron_state, "*", "common.pt", "", "Megatron-core, distributed format, common state"},
    {&deepspeed_object, "optimizer_state_dict.loss_scaler", "bf16_*", "",
     "DeepSpeed ZeRO in bfloat16, which does not use it"},
    {&deepspeed_object, "optimizer_state_dict.loss_scaler", "", "", "DeepSpeed ZeRO"},
    {&deepspeed_part, "optimizer", "", "", "DeepSpeed without ZeRO"},
    {&deepspeed_object, "loss_scaler", "optimizer_state.pt", "", "DeepSpeed, universal checkpoint"},
    {&apex_amp_state, "amp.*", "", "", "apex.amp"},
    {&apex_part, "*", "", "", "apex.contrib.optimizers.FP16_Optimizer"},
    {&apex_object, "*", "", "", "apex.fp16_utils.FP16_Optimizer"},
    {&apex_amp_object, "*", "", "", "apex.fp16_utils.FP16_Optimizer"},
    {&megatron_object, "*", "", "", "Megatron-LM before 2.0"},
    {&fairseq_part, "*", "", "", "fairseq"},
    {&colossalai_state, "optimizer.grad_scaler", "", "", "ColossalAI"},
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

std::string place_of(const FoundScaler& scaler, const FileContext& file, const Tree& tree) {
  const NodeId root = tree.fields(tree.root);
  for (const Place& place : places) {
    if (place.dialect != scaler.dialect || !fits(place.path, scaler.path)) continue;
    if (!place.file.empty() && !fits(place.file, file_name(file.name))) continue;
    if (!place.root_key.empty() && tree.find(root, place.root_key) == nowhere) continue;
    return std::string(place.trainer);
  }
  return {};
}

}  // namespace tare
