#include "lib/attest/mmengine_names.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "lib/attest/literal_config.hpp"
#include "lib/attest/naming_keys.hpp"
#include "lib/base/holds.hpp"

namespace tare {
namespace {

/// OpenMMLab's packages, whose registries hold the classes that are named by `type`.
constexpr auto own_scopes = std::to_array<std::string_view>(
    {"mmaction", "mmagic",    "mmcls",  "mmcv",      "mmdeploy",  "mmdet",  "mmdet3d", "mmedit",
     "mmengine", "mmfewshot", "mmflow", "mmgen",     "mmhuman3d", "mmocr",  "mmpose",  "mmpretrain",
     "mmrazor",  "mmrotate",  "mmseg",  "mmselfsup", "mmtrack",   "mmyolo", "xtuner"});

bool is_own_class(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('.') + 1);
  const bool is_class = !name.empty() && name.front() >= 'A' && name.front() <= 'Z';
  const bool is_of_torch = path.starts_with("torch.nn.") || path.starts_with("torch.optim.");
  return holds(own_scopes, path.substr(0, path.find('.'))) || (is_of_torch && is_class);
}

/// Python writes some characters by their numbers: a name that has such is not read.
bool is_plain(std::string_view text) {
  return text.find('\\') == text.npos;
}

std::optional<GlobalName> named_by(const ConfigText& text, std::uint64_t offset) {
  const GlobalName run{"builtins", "exec", offset};
  if (text.key == "_base_" || text.key.find('\\') != text.key.npos) return run;
  const bool is_scope = text.key == "default_scope" || text.key == "_scope_";
  const bool is_telling = is_scope || text.key == "imports" || text.key == "type";
  if (!is_telling) return std::nullopt;
  if (!is_plain(text.text)) return run;
  if (text.key == "imports") return GlobalName{text.text, "(imported)", offset};
  if (is_scope) {
    if (holds(own_scopes, text.text)) return std::nullopt;
    return GlobalName{text.text + ".registry", "(imported)", offset};
  }
  return is_own_class(text.text) ? std::nullopt : named(Says::path, text.text, offset);
}

}  // namespace

std::vector<GlobalName> names_in_mmengine_source(std::string_view source, std::uint64_t offset) {
  const auto texts = texts_of_literals(source);
  if (!texts) return {{"builtins", "exec", offset}};
  std::vector<GlobalName> names;
  for (const ConfigText& text : *texts) {
    if (auto name = named_by(text, offset)) names.push_back(*std::move(name));
  }
  return names;
}

}  // namespace tare
