// The table of places. `torch` state is kept by two dozen trainers; the key, the file's name and what else is at the
// file's root tell whose it is.
#include "lib/dialect/place.hpp"

#include <array>

namespace tare {
namespace {

struct Place {
  std::string_view dialect;
  std::string_view path;      ///< whole, or its beginning where it ends with a star
  std::string_view file;      ///< the file's name, written likewise; empty: any
  std::string_view root_key;  ///< a key that is at the file's root too; empty: no matter
  std::string_view trainer;
};

// First fit counts.
constexpr auto places = std::to_array<Place>({
    {"torch", "MixedPrecision", "", "", "Lightning, 2.1 or newer"},
    {"torch", "MixedPrecisionPlugin", "", "", "Lightning, 1.8 to 2.0"},
    {"torch", "NativeMixedPrecisionPlugin", "", "", "Lightning, 1.6 and 1.7"},
    {"torch", "ShardedNativeMixedPrecisionPlugin", "", "", "Lightning, 1.6 and 1.7"},
    {"torch", "native_amp_scaling_state", "", "", "Lightning, 1.5 or older"},
    {"apex", "amp_scaling_state.*", "", "", "Lightning, 1.5 or older, with apex.amp"},
    {"torch", "", "scaler.pt", "", "accelerate, or the Hugging Face Trainer"},
    {"torch", "", "scaler.ckpt", "", "SpeechBrain"},
    {"torch", "amp_scaler", "", "arch", "timm"},
    {"torch", "optimizer.loss_scaler", "", "", "mmengine (AmpOptimWrapper)"},
    {"torch", "trainer._trainer.grad_scaler", "", "", "detectron2 (DefaultTrainer)"},
    {"torch", "trainer.grad_scaler", "", "", "detectron2 (AMPTrainer)"},
    {"torch", "state.scaler.*", "", "", "composer"},
    {"torch", "scaler", "", "reporter", "espnet"},
    {"torch", "grad_scaler", "", "batch_idx_train", "icefall"},
    {"torch", "scaler", "", "train_args", "ultralytics"},
    {"torch", "scaler", "", "name", "open_clip"},
    {"nemo", "MegatronHalfPrecisionPlugin", "", "", "NeMo (MegatronHalfPrecisionPlugin)"},
    {"nemo", "MegatronMixedPrecisionPlugin", "", "", "NeMo (MegatronMixedPrecisionPlugin)"},
    {"nemo", "native_amp_scaling_state", "", "", "NeMo"},
    {"megatron", "*", "model_optim_rng.pt", "", "Megatron-LM, torch format"},
    {"megatron", "*", "common.pt", "", "Megatron-core, distributed format, common state"},
    {"deepspeed", "optimizer_state_dict.loss_scaler", "bf16_*", "",
     "DeepSpeed ZeRO in bfloat16, which does not use it"},
    {"deepspeed", "optimizer_state_dict.loss_scaler", "", "", "DeepSpeed ZeRO"},
    {"deepspeed", "optimizer", "", "", "DeepSpeed without ZeRO"},
    {"deepspeed", "loss_scaler", "optimizer_state.pt", "", "DeepSpeed, universal checkpoint"},
    {"apex", "amp.*", "", "", "apex.amp"},
    {"fairseq", "*", "", "", "fairseq"},
    {"colossalai", "optimizer.grad_scaler", "", "", "ColossalAI"},
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
    if (place.dialect != scaler.dialect->name || !fits(place.path, scaler.path)) continue;
    if (!place.file.empty() && !fits(place.file, file_name(file.name))) continue;
    if (!place.root_key.empty() && tree.find(root, place.root_key) == nowhere) continue;
    return std::string(place.trainer);
  }
  return {};
}

}  // namespace tare
