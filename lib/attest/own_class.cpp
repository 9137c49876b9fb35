// Sources: what the configurations of each framework name, and transformers/models, pyannote/audio,
// dynamic_network_architectures, allennlp, mmengine/registry/registry.py of each.
#include "lib/attest/own_class.hpp"

#include <algorithm>
#include <array>

#include "lib/base/glob.hpp"
#include "lib/base/holds.hpp"
#include "lib/container/pickle/globals/dangerous_global.hpp"

namespace tare {
namespace {

struct OwnModules {
  std::string_view owner;
  std::string_view modules;  ///< `*` stands for any characters
};
constexpr auto own_modules = std::to_array<OwnModules>({
    {"allennlp", "allennlp.data.*"},
    {"allennlp", "allennlp.models.*"},
    {"allennlp", "allennlp.modules.*"},
    {"allennlp", "allennlp.nn.*"},
    {"allennlp", "allennlp.training.*"},
    {"allennlp", "allennlp_models.*"},
    {"dynamic_network_architectures", "dynamic_network_architectures.architectures.*"},
    {"dynamic_network_architectures", "dynamic_network_architectures.building_blocks.*"},
    {"pyannote", "pyannote.audio.models.*"},
    {"pyannote", "pyannote.audio.pipelines"},
    {"pyannote", "pyannote.audio.pipelines.*"},
    {"torch", "torch.nn"},
    {"torch", "torch.nn.modules"},
    {"torch", "torch.nn.modules.*"},
    {"torch", "torch.optim"},
    {"torch", "torch.optim.*"},
    {"transformers", "transformers.models.*"},
});

/// Of other packages, and of Python: what a module imports can be reached through it.
constexpr auto imported_modules = std::to_array<std::string_view>(
    {"F",  "cv2",      "joblib", "logging", "monai",    "np",    "numpy",       "pandas",       "pd",       "pl",
     "re", "requests", "scipy",  "sklearn", "tempfile", "torch", "torchvision", "transformers", "warnings", "yaml"});

bool is_word_of_ascii(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

bool is_class_name(std::string_view name) {
  return !name.empty() && name.front() >= 'A' && name.front() <= 'Z' && std::ranges::all_of(name, is_word_of_ascii);
}

bool stays_inside(std::string_view module) {
  while (!module.empty()) {
    const std::size_t dot = std::min(module.rfind('.'), module.size());
    if (dot == module.size()) return true;
    const std::string_view part = module.substr(dot + 1);
    const bool is_plain = !part.empty() && part.front() != '_' && std::ranges::all_of(part, is_word_of_ascii);
    if (!is_plain || holds(imported_modules, part)) return false;
    module = module.substr(0, dot);
  }
  return false;
}

bool is_torch_class(std::string_view module, std::string_view name) {
  return is_own_class("torch", module, name);
}

bool is_own_class(std::string_view owner, std::string_view module, std::string_view name) {
  const auto has_it = [&](const OwnModules& own) {
    return (own.owner == owner || own.owner == "torch") && glob_matches(own.modules, module);
  };
  return is_class_name(name) && std::ranges::any_of(own_modules, has_it) && stays_inside(module) &&
         !is_dangerous_global(module, name);
}

}  // namespace tare
