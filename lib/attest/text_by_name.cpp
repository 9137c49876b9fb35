// Source: tensorflow/python/saved_model/loader_impl.py, mlflow/pytorch/__init__.py, mlflow/keras/load.py
#include "lib/attest/text_by_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "lib/attest/git_config.hpp"
#include "lib/attest/logging_config.hpp"
#include "lib/attest/naming_keys.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/holds.hpp"
#include "lib/checkpoint/names.hpp"

namespace tare {
namespace {

/// Fields of protobuf's text form in which a loader finds what it runs.
struct RunningField {
  std::string_view ending;
  std::string_view field;
  bool is_message;  ///< and no word that stands elsewhere, too
  std::string_view why;
};
constexpr std::string_view is_graph = "is a graph of TensorFlow, whose operations are not judged";
constexpr auto running_fields = std::to_array<RunningField>({
    {".pbtxt", "meta_graphs", false, is_graph},
    {".pbtxt", "graph_def", false, is_graph},
    {".pbtxt", "node", true, is_graph},
    {".prototxt", "python_param", false, "is a network of Caffe with layers in Python"},
});

/// Of texts that configparser reads.
constexpr auto endings_of_settings = std::to_array<std::string_view>({".cfg", ".conf", ".ini"});

/// MLflow and AllenNLP import what stands in them, whatever it is.
struct ModuleFile {
  std::string_view name;
  std::string_view own_module;
};
constexpr auto module_files = std::to_array<ModuleFile>({
    {".allennlp_plugins", "allennlp_models"},
    {"keras_module.txt", "keras"},
    {"keras_module.txt", "tensorflow.keras"},
    {"keras_module.txt", "tf_keras"},
    {"pickle_module_info.txt", "cloudpickle"},
    {"pickle_module_info.txt", "mlflow.pytorch.pickle_module"},
    {"pickle_module_info.txt", "pickle"},
});

constexpr std::string_view blank_characters = " \t\r\n";

/// Whether a message begins there, behind blanks, comments and a colon.
bool begins_message(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '{' || text[at] == '<') return true;
    if (text[at] == '#') at = std::min(text.find('\n', at), text.size() - 1);
    if (text[at] != ':' && blank_characters.find(text[at]) == blank_characters.npos) return false;
  }
  return false;
}

bool has_field(std::string_view text, const RunningField& running) {
  for (std::size_t at = text.find(running.field); at != text.npos; at = text.find(running.field, at + 1)) {
    const bool is_inside_word = at > 0 && is_word(text[at - 1]);
    if (!running.is_message || (!is_inside_word && begins_message(text.substr(at + running.field.size())))) return true;
  }
  return false;
}

std::string_view without_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(blank_characters), text.size()));
  return text.substr(0, text.find_last_not_of(blank_characters) + 1);
}

/// Python runs each line that begins so of a text that is called .pth, wherever it looks for modules.
bool has_import(std::string_view text) {
  while (!text.empty()) {
    if (text.starts_with("import ") || text.starts_with("import\t")) return true;
    text.remove_prefix(std::min(text.find_first_of("\r\n"), text.size() - 1) + 1);
  }
  return false;
}

}  // namespace

Doubt doubt_by_name(std::string_view text, std::string_view name) {
  const std::string ending = extension(name);
  for (const RunningField& running : running_fields) {
    if (running.ending == ending && has_field(text, running)) return {std::string(running.why), {}, 0};
  }
  if (ending == ".pth" && has_import(text)) return {"is a text of which Python runs lines", {}, 0};
  if (is_git_hook(name)) return {"is a hook, which git runs", {}, 0};
  if (const std::string setting = is_git_config(name) ? foreign_git_setting(text) : ""; !setting.empty()) {
    return {fmt::format("is git's configuration, and has {}, by which git may run something", setting), {}, 0};
  }
  if (holds(endings_of_settings, std::string_view(ending)) && is_logging_config(text)) {
    return {"", names_in_logging_config(text), 0};
  }
  const auto is_of_file = [&](const ModuleFile& file) { return file.name == file_name(name); };
  const std::string_view module = without_blanks(text);
  const auto is_own = [&](const ModuleFile& file) { return is_of_file(file) && file.own_module == module; };
  if (module.empty() || std::ranges::none_of(module_files, is_of_file) || std::ranges::any_of(module_files, is_own)) {
    return {};
  }
  constexpr std::size_t longest_module = 256;
  return {"", {{std::string(module.substr(0, longest_module)), "(imported)", 0}}, 0};
}

}  // namespace tare
