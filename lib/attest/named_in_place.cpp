#include "lib/attest/named_in_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "lib/attest/mmengine_names.hpp"
#include "lib/attest/naming_keys.hpp"
#include "lib/attest/text_value.hpp"
#include "lib/base/holds.hpp"

namespace tare {
namespace {

/// What is done with what stands in a place.
enum class Use : std::uint8_t {
  imported,   ///< a path to a class, parted by the last dot
  located,    ///< the same; without a dot, a module
  module,     ///< a module; its class stands beside it
  executed,   ///< Python, which mmengine runs
  evaluated,  ///< Python, evaluated
  linked,     ///< a library of machine code, loaded
  written,    ///< a map of files that are written where a model is loaded
  arguments,  ///< a list of the arguments that are located
};

constexpr std::size_t longest_path = 4;
struct Place {
  std::array<std::string_view, longest_path> keys;  ///< the last ones of a path, of which as many as are not empty
  Use use;
  std::string_view own = {};  ///< a package whose classes are a framework's
};

constexpr auto places = std::to_array<Place>({
    {{"meta", "cfg"}, Use::executed},
    {{"runtime_info", "cfg"}, Use::executed},
    {{"huggingface", "model", "config", "class"}, Use::imported, "transformers"},
    {{"huggingface", "tokenizer"}, Use::written},
    {{"pyannote.audio", "architecture", "module"}, Use::module, "pyannote"},
    {{"pipeline", "name"}, Use::imported, "pyannote"},
    {{"architecture", "network_class_name"}, Use::located, "dynamic_network_architectures"},
    {{"architecture", "_kw_requires_import"}, Use::arguments, "dynamic_network_architectures"},
    {{"conv_feature_layers"}, Use::evaluated},
    {{"adam_betas"}, Use::evaluated},
    {{"session_options", "custom_ops_library"}, Use::linked},
});

/// Keys of a whole configuration of AllenNLP or Tango, in which `type` may name a class by its path.
constexpr auto registrable_marks = std::to_array<std::string_view>({"data_loader", "dataset_reader", "step", "steps"});

/// Layers of torch's are made of numbers and nothing else.
bool is_layer(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('.') + 1);
  return path.starts_with("torch.nn.") && !name.empty() && name.front() >= 'A' && name.front() <= 'Z';
}

/// Numbers, and what parts, groups and repeats them: nothing that could be called has a name.
bool is_arithmetic(std::string_view text) {
  return text.find_first_not_of("0123456789.,()[]+-*/e \n") == text.npos;
}

class PlaceReader {
 public:
  explicit PlaceReader(const Tree& tree) : tree_(tree) {}

  Doubt read() && {
    const bool is_registrable = std::ranges::any_of(
        registrable_marks, [&](std::string_view mark) { return tree_.find(tree_.root, mark) != nowhere; });
    for (NodeId map = 0; map < tree_.size(); ++map) {
      if (tree_.kind(map) == Kind::map) look_at(map, is_registrable);
    }
    return std::move(doubt_);
  }

 private:
  void look_at(NodeId map, bool is_registrable) {
    const auto pairs = tree_.items(map);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      if (tree_.kind(pairs[i]) != Kind::string) continue;
      const std::string_view key = tree_.text(pairs[i]);
      if (is_registrable && key == "type") look_at_type(pairs[i + 1]);
      for (const Place& place : places) {
        if (place.keys.front() == key) follow(place, map, pairs[i + 1]);
      }
    }
  }

  /// From the value of a place's first key to what stands under its last.
  void follow(const Place& place, NodeId holder, NodeId value) {
    for (std::size_t i = 1; i < place.keys.size() && !place.keys[i].empty(); ++i) {
      holder = keyed(tree_, value);
      value = tree_.find(holder, place.keys[i]);
      if (value == nowhere) return;
    }
    use(place, holder, value);
  }

  void use(const Place& place, NodeId holder, NodeId value) {
    if (place.use == Use::written) return look_at_files(value);
    if (place.use == Use::arguments) return look_at_arguments(place, holder, value);
    const std::string_view text = text_in(tree_, value);
    if (text.empty()) return;
    const std::uint64_t offset = tree_.span(value).offset;
    switch (place.use) {
      case Use::executed:
        tree_.take_steps(text.size());
        for (GlobalName& name : names_in_mmengine_source(text, offset)) keep(std::move(name));
        return;
      case Use::evaluated:
        return is_arithmetic(text) ? void() : keep({"builtins", "eval", offset});
      case Use::linked:
        return keep({"ctypes", "CDLL", offset});
      case Use::module:
        return keep_unless_own(place.own, text, text_in(tree_, tree_.find(holder, "class")), offset);
      case Use::imported:
        return look_at_path(place, Says::likely_path, text, offset);
      default:
        return locate(place, text, offset);
    }
  }

  void look_at_path(const Place& place, Says says, std::string_view text, std::uint64_t offset) {
    if (const auto name = named(says, text, offset)) keep_unless_own(place.own, name->module, name->name, offset);
  }

  /// As pydoc.locate does, which imports as much of a path as it can.
  void locate(const Place& place, std::string_view path, std::uint64_t offset) {
    if (is_layer(path)) return;
    if (path.find('.') == path.npos) return keep_unless_own(place.own, path, "(imported)", offset);
    look_at_path(place, Says::path, path, offset);
  }
  void look_at_arguments(const Place& place, NodeId holder, NodeId names) {
    const NodeId arguments = keyed(tree_, tree_.find(holder, "arch_kwargs"));
    tree_.take_steps(tree_.items(names).size() * (1 + tree_.items(arguments).size()));
    for (const NodeId name : tree_.items(names)) {
      const NodeId value = tree_.find(arguments, text_in(tree_, name));
      const std::string_view path = text_in(tree_, value);
      if (!path.empty()) locate(place, path, tree_.span(value).offset);
    }
  }

  /// AllenNLP parts a path by its last dot, Tango by a colon, too.
  void look_at_type(NodeId value) {
    std::string path(text_in(tree_, value));
    std::ranges::replace(path, ':', '.');
    if (path.empty()) return;
    if (auto name = named(Says::likely_path, path, tree_.span(value).offset)) keep(*std::move(name));
  }

  /// Composer writes a tokenizer's files by their names, before anything reads them.
  void look_at_files(NodeId files) {
    const NodeId map = keyed(tree_, files);
    const auto pairs = tree_.items(map);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const std::string name(text_in(tree_, pairs[i]));
      const std::string_view ending = text_in(tree_, tree_.find(keyed(tree_, pairs[i + 1]), "file_extension"));
      const bool is_outside = name.find_first_of("/\\") != name.npos || name.find("..") != name.npos ||
                              ending.find_first_of("/\\") != ending.npos;
      if (!is_outside && !name.ends_with(".py") && ending != ".py") continue;
      doubt_.why = fmt::format("its loader writes a file {}{} for the tokenizer", name, ending);
    }
  }

  void keep_unless_own(std::string_view own, std::string_view module, std::string_view name, std::uint64_t offset) {
    const bool is_own = !own.empty() && module.substr(0, module.find('.')) == own;
    if (!is_own) keep({std::string(module), name.empty() ? "(imported)" : std::string(name), offset});
  }
  void keep(GlobalName name) {
    tree_.take_memory(memory_of(name));
    doubt_.globals.push_back(std::move(name));
  }

  const Tree& tree_;
  Doubt doubt_;
};

}  // namespace

Doubt doubt_of_places(const Tree& tree) {
  return PlaceReader(tree).read();
}

}  // namespace tare
