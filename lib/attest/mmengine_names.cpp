#include "lib/attest/mmengine_names.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "lib/attest/literal_config.hpp"
#include "lib/attest/naming_keys.hpp"
#include "lib/attest/own_class.hpp"
#include "lib/base/holds.hpp"
#include "lib/container/pickle/globals/dangerous_global.hpp"

namespace tare {
namespace {

/// OpenMMLab's packages, whose registries hold the classes that are named by `type`.
constexpr auto own_scopes = std::to_array<std::string_view>(
    {"mmaction", "mmagic",    "mmcls",     "mmcv",    "mmdeploy",  "mmdet",       "mmdet3d", "mmedit",     "mmengine",
     "mmeval",   "mmfewshot", "mmflow",    "mmgen",   "mmhuman3d", "mmocr",       "mmpose",  "mmpretrain", "mmrazor",
     "mmrotate", "mmseg",     "mmselfsup", "mmtrack", "mmyolo",    "opencompass", "xtuner"});

/// In them, where classes lie that are registered.
constexpr auto own_parts = std::to_array<std::string_view>(
    {"cnn", "dataset", "datasets", "engine", "evaluation", "evaluator", "hooks", "metrics", "model", "models", "ops",
     "optim", "runner", "structures", "testing", "transforms", "visualization"});
/// Also of the package itself, and none that is registered: it reads files and runs them.
constexpr std::string_view reader_of_files = "Config";

std::string_view first_part(std::string_view path) {
  return path.substr(0, path.find('.'));
}

/// A module of OpenMMLab's: to import it runs no more than the package does. What is imported there is no module of it.
bool is_own_module(std::string_view path) {
  const bool is_plain = std::ranges::all_of(path, [](char c) { return is_word(c) || c == '.'; });
  return is_plain && holds(own_scopes, first_part(path)) && path.find("__") == path.npos;
}

/// `scope.Class`, which a registry knows, or the whole path of a class.
bool is_own_type(const GlobalName& type) {
  if (is_torch_class(type.module, type.name)) return true;
  if (!is_class_name(type.name) || type.name == reader_of_files || !is_own_module(type.module)) return false;
  const std::string_view scope = first_part(type.module);
  if (scope == type.module) return true;
  return holds(own_parts, first_part(std::string_view(type.module).substr(scope.size() + 1))) &&
         stays_inside(type.module) && !is_dangerous_global(type.module, type.name);
}

/// Python writes some characters by their numbers: a name that has such is not read.
bool is_plain(std::string_view text) {
  return text.find('\\') == text.npos;
}

std::optional<GlobalName> type_named(std::string_view path, std::uint64_t offset) {
  auto type = named(Says::path, path, offset);
  return type && is_own_type(*type) ? std::nullopt : type;
}

std::optional<GlobalName> module_named(std::string_view path, std::uint64_t offset) {
  if (is_own_module(path)) return std::nullopt;
  return GlobalName{std::string(path), "(imported)", offset};
}

std::optional<GlobalName> scope_named(std::string_view scope, std::uint64_t offset) {
  if (holds(own_scopes, scope)) return std::nullopt;
  return GlobalName{std::string(scope) + ".registry", "(imported)", offset};
}

/// What is done with a text under a key.
struct TellingKey {
  std::string_view key;
  std::optional<GlobalName> (*named)(std::string_view text, std::uint64_t offset);
};
constexpr auto telling_keys = std::to_array<TellingKey>({{"_scope_", scope_named},
                                                         {"default_scope", scope_named},
                                                         {"imports", module_named},
                                                         {"runner_type", type_named},
                                                         {"type", type_named}});

std::optional<GlobalName> named_by(const ConfigText& text, std::uint64_t offset) {
  const GlobalName run{"builtins", "exec", offset};
  if (text.key == "_base_" || !is_plain(text.key)) return run;
  const auto telling = std::ranges::find(telling_keys, std::string_view(text.key), &TellingKey::key);
  if (telling == telling_keys.end()) return std::nullopt;
  return is_plain(text.text) ? telling->named(text.text, offset) : run;
}

}  // namespace

std::vector<GlobalName> names_in_mmengine_source(std::string_view source, std::uint64_t offset) {
  const auto texts = texts_of_literals(source);
  if (!texts && calls_nothing(source)) return {};
  if (!texts) return {{"builtins", "exec", offset}};
  std::vector<GlobalName> names;
  for (const ConfigText& text : *texts) {
    if (auto name = named_by(text, offset)) names.push_back(*std::move(name));
  }
  return names;
}

}  // namespace tare
