#include "lib/attest/verdict.hpp"

#include <algorithm>

#include "lib/container/pickle_global.hpp"

namespace tare {
namespace {

constexpr std::string_view framework_packages[] = {
    "torch",
    "torchvision",
    "torchaudio",
    "torchao",
    "torchmetrics",
    "torchtitan",
    "numpy",
    "scipy",
    "pandas",
    "transformer_engine",
    "megatron",
    "deepspeed",
    "apex",
    "msamp",
    "lightning",
    "pytorch_lightning",
    "lightning_fabric",
    "lightning_utilities",
    "accelerate",
    "transformers",
    "tokenizers",
    "datasets",
    "peft",
    "trl",
    "diffusers",
    "safetensors",
    "bitsandbytes",
    "timm",
    "mmengine",
    "mmcv",
    "detectron2",
    "fvcore",
    "fairseq",
    "nemo",
    "nemo_automodel",
    "omegaconf",
    "hydra",
    "composer",
    "colossalai",
    "fastai",
    "fastcore",
    "ignite",
    "espnet",
    "espnet2",
    "icefall",
    "k2",
    "lhotse",
    "speechbrain",
    "hyperpyyaml",
    "ultralytics",
    "open_clip",
    "paddle",
    "paddlenlp",
    "mindspore",
    "mindformers",
    "tensorflow",
    "keras",
    "jax",
    "jaxlib",
    "flax",
    "optax",
    "ml_dtypes",
    "sklearn",
    "xgboost",
};

struct Names {
  std::string_view module, name;
};

/// Types of Python's own that hold data and run nothing when they are made.
constexpr Names data_types[] = {
    {"builtins", "dict"},
    {"builtins", "list"},
    {"builtins", "tuple"},
    {"builtins", "frozenset"},
    {"builtins", "int"},
    {"builtins", "float"},
    {"builtins", "str"},
    {"builtins", "bool"},
    {"builtins", "bytes"},
    {"builtins", "object"},
    {"builtins", "slice"},
    {"builtins", "range"},
    {"builtins", "bytearray"},
    {"builtins", "set"},
    {"builtins", "complex"},
    {"collections", "defaultdict"},
    {"collections", "deque"},
    {"collections", "Counter"},
    {"_codecs", "encode"},
    {"_io", "BytesIO"},
    {"io", "BytesIO"},
    {"copyreg", "_reconstructor"},
    {"copy_reg", "_reconstructor"},
    {"argparse", "Namespace"},
    {"datetime", "datetime"},
    {"datetime", "date"},
    {"datetime", "timedelta"},
    {"datetime", "timezone"},
    {"decimal", "Decimal"},
    {"fractions", "Fraction"},
    {"pathlib", "Path"},
    {"pathlib", "PosixPath"},
    {"pathlib", "WindowsPath"},
    {"pathlib", "PurePosixPath"},
    {"pathlib._local", "PosixPath"},
    {"uuid", "UUID"},
    {"random", "Random"},
};

bool is_data_type(std::string_view module, std::string_view name) {
  if (module == "__builtin__") module = "builtins";
  return std::ranges::any_of(data_types,
                             [&](const Names& known) { return known.module == module && known.name == name; });
}

bool is_of_framework(std::string_view module) {
  const std::string_view package = module.substr(0, module.find('.'));
  return std::ranges::find(framework_packages, package) != std::end(framework_packages);
}

}  // namespace

std::string_view name(Verdict verdict) {
  constexpr std::string_view names[] = {"allowed", "framework", "unknown", "dangerous"};
  return names[static_cast<std::size_t>(verdict)];
}

Verdict verdict_of(std::string_view module, std::string_view name, TorchRelease release) {
  if (weights_only_allows(release, module, name)) return Verdict::allowed;
  if (trust_of(module, name) == Trust::dangerous) return Verdict::dangerous;
  return is_of_framework(module) || is_data_type(module, name) ? Verdict::framework : Verdict::unknown;
}

}  // namespace tare
