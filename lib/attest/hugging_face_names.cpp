#include "lib/attest/hugging_face_names.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "lib/attest/own_class.hpp"
#include "lib/base/holds.hpp"

namespace tare {
namespace {

/// Of them the libraries take classes by name and call their `from_pretrained` or `load`.
constexpr auto own_packages = std::to_array<std::string_view>({"diffusers", "sentence_transformers", "transformers"});

/// Packages in diffusers.pipelines with classes that are parts of pipelines: named without what they lie in.
constexpr auto pipeline_packages = std::to_array<std::string_view>(
    {"audioldm2", "blip_diffusion", "deepfloyd_if", "kandinsky", "latent_diffusion", "paint_by_example", "shap_e",
     "spectrogram_diffusion", "stable_audio", "stable_diffusion", "stable_diffusion_safe", "unclip", "unidiffuser",
     "wuerstchen"});

/// Under which Transformers is told how to compute attention: by a word of its own, or by code of the Hub.
constexpr auto attention_keys =
    std::to_array<std::string_view>({"_attn_implementation", "_attn_implementation_internal", "attn_implementation"});

/// A slash parts a repository from its owner; words have none.
bool is_hub_kernel(std::string_view value) {
  return value.find('/') != value.npos;
}

/// Which PEFT imports where nothing else is named.
constexpr std::string_view own_core = "megatron.core";

bool is_own(std::string_view module, std::string_view name) {
  return holds(own_packages, module.substr(0, module.find('.'))) || is_torch_class(module, name);
}

class HuggingFaceNames {
 public:
  explicit HuggingFaceNames(const Tree& tree) : tree_(tree) {}

  std::vector<GlobalName> all() && {
    for (NodeId node = 0; node < tree_.size(); ++node) {
      if (tree_.kind(node) == Kind::map) look_at(node);
    }
    return std::move(names_);
  }

 private:
  /// Values of the keys that tell, of one object; nowhere where they are not there.
  struct Telling {
    NodeId parent_library = nowhere, base_model_class = nowhere;
    NodeId idx = nowhere, path = nowhere, type = nowhere;
    NodeId class_name = nowhere, diffusers_version = nowhere;
    NodeId custom_pipelines = nowhere;
    NodeId activation_function = nowhere, activation_fn = nowhere, former_activation = nowhere;
    NodeId tokenizer_class = nowhere, types = nowhere, structure = nowhere;
    NodeId megatron_core = nowhere, megatron_config = nowhere;
  };
  static constexpr auto telling_keys = std::to_array<std::pair<std::string_view, NodeId Telling::*>>({
      {"parent_library", &Telling::parent_library},
      {"base_model_class", &Telling::base_model_class},
      {"idx", &Telling::idx},
      {"path", &Telling::path},
      {"type", &Telling::type},
      {"_class_name", &Telling::class_name},
      {"_diffusers_version", &Telling::diffusers_version},
      {"custom_pipelines", &Telling::custom_pipelines},
      {"activation_function", &Telling::activation_function},
      {"activation_fn", &Telling::activation_fn},
      {"sbert_ce_default_activation_function", &Telling::former_activation},
      {"tokenizer_class", &Telling::tokenizer_class},
      {"types", &Telling::types},
      {"structure", &Telling::structure},
      {"megatron_core", &Telling::megatron_core},
      {"megatron_config", &Telling::megatron_config},
  });

  void look_at(NodeId map) {
    Telling told;
    const auto pairs = tree_.items(map);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      for (const auto& [key, value] : telling_keys) {
        if (text(pairs[i]) == key) told.*value = pairs[i + 1];
      }
      if (holds(attention_keys, text(pairs[i]))) look_at_attention(pairs[i + 1]);
    }
    keep(text(told.parent_library), text(told.base_model_class), map);
    if (told.idx != nowhere && told.path != nowhere) keep_path(text(told.type), map);
    if (told.class_name != nowhere && told.diffusers_version != nowhere) look_at_pipeline(map);
    for (const NodeId path :
         {told.activation_function, told.activation_fn, told.former_activation, told.tokenizer_class}) {
      keep_path(text(path), map);
    }
    const auto types = told.structure != nowhere ? tree_.items(told.types) : std::span<const NodeId>();
    for (std::size_t i = 1; i < types.size(); i += 2) keep_path(text(types[i]), types[i]);
    const auto custom = tree_.items(told.custom_pipelines);
    for (std::size_t i = 1; i < custom.size(); i += 2) keep_path(text(tree_.find(custom[i], "impl")), custom[i]);
    const bool is_imported = told.megatron_config != nowhere && tree_.kind(told.megatron_config) != Kind::none;
    if (is_imported && text(told.megatron_core) != own_core) keep(text(told.megatron_core), "(imported)", map);
  }

  /// One text, or one for each part of a model.
  void look_at_attention(NodeId value) {
    if (is_hub_kernel(text(value))) keep(text(value), "(kernel of the Hub)", value);
    const auto parts = tree_.kind(value) == Kind::map ? tree_.items(value) : std::span<const NodeId>();
    for (std::size_t i = 1; i < parts.size(); i += 2) {
      if (is_hub_kernel(text(parts[i]))) keep(text(parts[i]), "(kernel of the Hub)", parts[i]);
    }
  }

  void look_at_pipeline(NodeId map) {
    const auto pairs = tree_.items(map);
    for (std::size_t i = 1; i < pairs.size(); i += 2) {
      if (tree_.kind(pairs[i]) != Kind::list) continue;
      const auto part = tree_.items(pairs[i]);
      if (part.size() == 2 || part.size() == 3) look_at_part(part);
      if (part.size() == 3 && tree_.kind(part[2]) == Kind::map) look_at_part(tree_.find(part[2], "type_hint"));
    }
  }

  void look_at_part(NodeId row) {
    if (row != nowhere && tree_.kind(row) == Kind::list && tree_.items(row).size() == 2) look_at_part(tree_.items(row));
  }
  /// A library, or a package of diffusers', and a class of it.
  void look_at_part(std::span<const NodeId> part) {
    const std::string_view library = text(part[0]);
    if (!holds(pipeline_packages, library)) keep(library, text(part[1]), part[0]);
  }

  /// Empty for what is no text, or not there.
  [[nodiscard]] std::string_view text(NodeId node) const {
    return node != nowhere && tree_.kind(node) == Kind::string ? tree_.text(node) : std::string_view();
  }

  void keep_path(std::string_view path, NodeId node) {
    const std::size_t dot = path.rfind('.');
    if (dot != path.npos) keep(path.substr(0, dot), path.substr(dot + 1), node);
  }
  void keep(std::string_view module, std::string_view name, NodeId node) {
    if (module.empty() || name.empty() || is_own(module, name)) return;
    constexpr std::uint64_t bytes_a_name = 512;  // here, and among those that are told
    tree_.take_memory(bytes_a_name + 3 * (module.size() + name.size()));
    names_.push_back({std::string(module), std::string(name), tree_.span(node).offset});
  }

  const Tree& tree_;
  std::vector<GlobalName> names_;
};

}  // namespace

std::vector<GlobalName> names_in_hugging_face(const Tree& tree) {
  return HuggingFaceNames(tree).all();
}

}  // namespace tare
