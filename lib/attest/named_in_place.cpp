#include "lib/attest/named_in_place.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "lib/attest/composer_names.hpp"
#include "lib/attest/mmengine_names.hpp"
#include "lib/attest/naming_keys.hpp"
#include "lib/attest/own_class.hpp"
#include "lib/attest/text_value.hpp"
#include "lib/base/glob.hpp"

namespace tare {
namespace {

/// What is done with what stands in a place.
enum class Use : std::uint8_t {
  imported,    ///< a path to a class, parted by the last dot
  located,     ///< the same; without a dot, a module, or a class that its framework looks for in its own modules
  module,      ///< a module; its class stands beside it
  executed,    ///< Python, which mmengine runs
  linked,      ///< a library of machine code, loaded
  algorithms,  ///< of Composer
  files,       ///< of Composer
  hub_model,   ///< of Composer
  arguments,   ///< a list of the keys in `arch_kwargs` over what is located
};

constexpr unsigned in_pickles = static_cast<unsigned>(TreeOrigin::pickle);
constexpr unsigned in_json = static_cast<unsigned>(TreeOrigin::json);

constexpr std::size_t longest_path = 4;
struct Place {
  std::array<std::string_view, longest_path> keys;  ///< the last ones of a path, of which as many as are not empty
  unsigned origins;                                 ///< of trees in which it counts
  Use use;
  std::string_view own = {};  ///< a package whose classes are a framework's; of a library, how its own is called
};

constexpr std::string_view networks = "dynamic_network_architectures";
constexpr auto known_places = std::to_array<Place>({
    {{"meta", "cfg"}, in_pickles, Use::executed},
    {{"meta", "config"}, in_pickles, Use::executed},
    {{"runtime_info", "cfg"}, in_pickles, Use::executed},
    {{"state", "algorithms"}, in_pickles, Use::algorithms},
    {{"huggingface", "model", "config", "class"}, in_pickles, Use::imported, "transformers"},
    {{"huggingface", "model", "config", "content"}, in_pickles, Use::hub_model},
    {{"huggingface", "tokenizer"}, in_pickles, Use::files},
    {{"pyannote.audio", "architecture", "module"}, in_pickles, Use::module, "pyannote"},
    {{"architecture", "network_class_name"}, in_pickles | in_json, Use::located, networks},
    {{"architecture", "_kw_requires_import"}, in_pickles | in_json, Use::arguments, networks},
    {{"architecture_plans", "arch_class_name"}, in_pickles | in_json, Use::located, networks},
    {{"architecture_plans", "arch_kwargs_requiring_import"}, in_pickles | in_json, Use::arguments, networks},
    {{"session_options", "custom_ops_library"}, in_json, Use::linked},
    {{"qnn", "backend_path"}, in_json, Use::linked, "*Qnn*"},
    {{"QNN", "backend_path"}, in_json, Use::linked, "*Qnn*"},
    {{"trt_extra_plugin_lib_paths"}, in_json, Use::linked},
});

/// A library of that name, in no folder.
bool is_plain_library(std::string_view pattern, std::string_view path) {
  return !pattern.empty() && path.find_first_of("/\\:") == path.npos && glob_matches(pattern, path);
}

class PlaceReader {
 public:
  PlaceReader(const Tree& tree, TreeOrigin origin) : tree_(tree), origin_(static_cast<unsigned>(origin)) {}

  Doubt read() && {
    for (NodeId map = 0; map < tree_.size(); ++map) {
      if (tree_.kind(map) == Kind::map) look_at(map);
    }
    return std::move(doubt_);
  }

 private:
  void look_at(NodeId map) {
    const auto pairs = tree_.items(map);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      if (tree_.kind(pairs[i]) != Kind::string) continue;
      const std::string_view key = tree_.text(pairs[i]);
      for (const Place& place : known_places) {
        if ((place.origins & origin_) != 0 && place.keys.front() == key) follow(place, map, pairs[i + 1]);
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
    switch (place.use) {
      case Use::algorithms:
        return add(doubt_of_algorithms(tree_, value));
      case Use::files:
        return add(doubt_of_written_files(tree_, value));
      case Use::hub_model:
        return add(doubt_of_hub_code(tree_, value));
      case Use::arguments:
        return look_at_arguments(place, holder, value);
      default:
        if (const std::string_view text = text_in(tree_, value); !text.empty()) use_text(place, holder, value, text);
    }
  }

  void use_text(const Place& place, NodeId holder, NodeId value, std::string_view text) {
    const std::uint64_t offset = tree_.span(value).offset;
    switch (place.use) {
      case Use::executed:
        tree_.take_steps(text.size());
        for (GlobalName& name : names_in_mmengine_source(text, offset)) keep(std::move(name));
        return;
      case Use::linked:
        return is_plain_library(place.own, text) ? void() : keep({"ctypes", "CDLL", offset});
      case Use::module:
        return keep_unless_own(place.own, text, text_in(tree_, tree_.find(holder, "class")), offset);
      case Use::located:
        return locate(place, text, offset);
      default:
        return take_path(place, text, offset);
    }
  }

  /// Whatever its parts are made of: they are imported without a look.
  void take_path(const Place& place, std::string_view path, std::uint64_t offset) {
    const std::size_t dot = path.rfind('.');
    if (dot != path.npos) keep_unless_own(place.own, path.substr(0, dot), path.substr(dot + 1), offset);
  }

  /// As pydoc.locate does, which imports as much of a path as it can.
  void locate(const Place& place, std::string_view path, std::uint64_t offset) {
    if (path.find('.') != path.npos) return take_path(place, path, offset);
    if (!is_class_name(path)) keep({std::string(path), "(imported)", offset});
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

  void keep_unless_own(std::string_view own, std::string_view module, std::string_view name, std::uint64_t offset) {
    if (is_own_class(own, module, name)) return;
    keep({std::string(module), name.empty() ? "(imported)" : std::string(name), offset});
  }
  void keep(GlobalName name) {
    tree_.take_memory(memory_of(name));
    doubt_.globals.push_back(std::move(name));
  }
  void add(Doubt more) {
    if (!more.why.empty()) doubt_.why = std::move(more.why);
    for (GlobalName& name : more.globals) keep(std::move(name));
  }

  const Tree& tree_;
  unsigned origin_;
  Doubt doubt_;
};

}  // namespace

Doubt doubt_of_places(const Tree& tree, TreeOrigin origin) {
  return PlaceReader(tree, origin).read();
}

}  // namespace tare
