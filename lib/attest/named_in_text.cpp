#include "lib/attest/named_in_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>

#include "lib/attest/hugging_face_names.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/keras_config.hpp"

namespace tare {
namespace {

enum class Says : std::uint8_t {
  path,       ///< module and name, parted by the last dot
  module,     ///< a module, of which a function is called
  evaluated,  ///< Python
};

struct Key {
  std::string_view text;
  Says says;
  std::string_view beside = {};  ///< a key that has to stand there, too
};

constexpr Key keys[] = {
    {"_component_", Says::path},      {"_target_", Says::path},        {"auto_map", Says::path},
    {"class_path", Says::path},       {"loader_module", Says::module}, {"py/function", Says::path},
    {"py/object", Says::path},        {"py/repr", Says::evaluated},    {"py/type", Says::path},
    {"target", Says::path, "params"},
};

bool is_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '_' ||
         byte >= 0x80;
}

/// The part of `text` that is words and dots; colons and dashes stand in the names of repositories.
std::string_view dotted(std::string_view text) {
  const auto is_part = [](char c) { return is_word(c) || c == '.' || c == '/' || c == '-' || c == ':'; };
  return text.substr(0, static_cast<std::size_t>(std::ranges::find_if_not(text, is_part) - text.begin()));
}

/// What a value under a key names; nothing where it is no name.
std::optional<GlobalName> named(Says says, std::string_view value, std::uint64_t offset) {
  if (says == Says::evaluated) return GlobalName{"builtins", "eval", offset};
  if (value.find("${") != value.npos) return GlobalName{std::string(value), "(interpolated)", offset};
  if (value.empty() || dotted(value) != value) return std::nullopt;
  if (says == Says::module) return GlobalName{std::string(value), "_load_pyfunc", offset};
  const std::size_t dot = value.rfind('.');
  if (dot == value.npos || dot == 0 || dot + 1 == value.size()) return std::nullopt;
  return GlobalName{std::string(value.substr(0, dot)), std::string(value.substr(dot + 1)), offset};
}

/// Here, and among those that are told.
std::uint64_t memory_of(const GlobalName& name) {
  constexpr std::uint64_t bytes_a_name = 512;
  return bytes_a_name + 3 * (name.module.size() + name.name.size());
}

class JsonNames {
 public:
  explicit JsonNames(const Tree& tree) : tree_(tree) {}

  std::vector<GlobalName> all() && {
    for (NodeId node = 0; node < tree_.size(); ++node) {
      if (tree_.kind(node) == Kind::map) look_at(node);
    }
    return std::move(names_);
  }

 private:
  void look_at(NodeId map) {
    const auto pairs = tree_.items(map);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      if (tree_.kind(pairs[i]) != Kind::string) continue;
      const std::string_view text = tree_.text(pairs[i]);
      if (text == "__class__") add_class(map, pairs[i + 1]);
      const auto* key = std::ranges::find(keys, text, &Key::text);
      if (key == std::end(keys)) continue;
      if (key->beside.empty() || tree_.find(map, key->beside) != nowhere) take(key->says, pairs[i + 1]);
    }
  }

  /// A text, or those of a list or an object.
  void take(Says says, NodeId value) {
    if (tree_.kind(value) == Kind::string) return add(says, value);
    const std::size_t step = tree_.kind(value) == Kind::map ? 2 : 1;
    const auto items = tree_.items(value);
    for (std::size_t i = step - 1; i < items.size(); i += step) {
      if (tree_.kind(items[i]) == Kind::string) add(says, items[i]);
      for (const NodeId inner : tree_.items(items[i])) {
        if (step == 2 && tree_.kind(inner) == Kind::string) add(says, inner);
      }
    }
  }

  /// As skops has it: module and name apart.
  void add_class(NodeId map, NodeId value) {
    const NodeId module = tree_.find(map, "__module__");
    if (module == nowhere || tree_.kind(module) != Kind::string || tree_.kind(value) != Kind::string) return;
    keep({std::string(tree_.text(module)), std::string(tree_.text(value)), tree_.span(value).offset});
  }

  void add(Says says, NodeId value) {
    auto name = named(says, tree_.text(value), tree_.span(value).offset);
    if (name) keep(std::move(*name));
  }
  void keep(GlobalName name) {
    tree_.take_memory(memory_of(name));
    names_.push_back(std::move(name));
  }

  const Tree& tree_;
  std::vector<GlobalName> names_;
};

/// Of YAML 1.1, behind "!!": they make values and nothing else.
constexpr auto plain_tags =
    std::to_array<std::string_view>({"binary", "bool", "float", "int", "map", "merge", "null", "omap", "pairs", "seq",
                                     "set", "str", "timestamp", "value"});

/// Whether a node may begin at `at`.
bool begins_node(std::string_view text, std::size_t at) {
  return at == 0 || std::string_view(" \t\r\n[{,:-?").find(text[at - 1]) != std::string_view::npos;
}

bool has_own_tag(std::string_view text) {
  for (std::size_t at = text.find('!'); at != text.npos; at = text.find('!', at + 1)) {
    if (!begins_node(text, at)) continue;
    const std::string_view tag = text.substr(at + 1, text.find_first_of(" \t\r\n,[]{}\"'", at) - at - 1);
    if (tag.empty()) continue;  // "not that"; prose
    if (tag.front() != '!' || std::ranges::find(plain_tags, tag.substr(1)) == plain_tags.end()) return true;
    at += tag.size();
  }
  return false;
}

bool has_directive(std::string_view text) {
  return text.starts_with("%TAG") || text.find("\n%TAG") != text.npos;
}

/// Whether a quoted text may have characters that are written by their numbers, so that words are not found.
bool has_escapes(std::string_view text) {
  if (text.find('"') == text.npos) return false;
  for (std::size_t at = text.find('\\'); at != text.npos && at + 1 < text.size(); at = text.find('\\', at + 2)) {
    if (std::string_view("xuU").find(text[at + 1]) != std::string_view::npos) return true;
  }
  return false;
}

/// The ASCII character that an escape of JSON, TOML or YAML stands for, and how long it is; 0 for any other.
std::pair<char, std::size_t> escaped_character(std::string_view escape) {
  if (escape.starts_with("\\/")) return {'/', 2};
  const std::string_view kinds = "xuU";
  const std::size_t kind = escape.size() > 1 ? kinds.find(escape[1]) : kinds.npos;
  if (kind == kinds.npos) return {};
  const std::string_view digits = escape.substr(2, std::size_t{2} << kind);
  std::uint32_t code = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  const bool is_whole = digits.size() == std::size_t{2} << kind && end == digits.data() + digits.size();
  if (problem != std::errc() || !is_whole || code < ' ' || code > '~') return {};
  return {static_cast<char>(code), 2 + digits.size()};
}

/// Names and keys may be written by the numbers of their characters.
std::string without_escapes(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const std::size_t before = std::min(text.find('\\'), text.size());
    plain += text.substr(0, before);
    text.remove_prefix(before);
    const auto [character, size] = escaped_character(text);
    if (size > 0) plain += character;
    const std::size_t other = std::min<std::size_t>(2, text.size());  // a backslash that is escaped begins no escape
    if (size == 0) plain += text.substr(0, other);
    text.remove_prefix(size > 0 ? size : other);
  }
  return plain;
}

/// The value of a key that ends at `at`, by its words: YAML's, JSON's, TOML's.
std::string_view value_behind(std::string_view text, std::size_t at) {
  text.remove_prefix(at);
  text.remove_prefix(std::min(text.find_first_not_of("\"'"), text.size()));
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  if (!text.starts_with(':') && !text.starts_with('=')) return {};
  text.remove_prefix(1);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n\"'"), text.size()));
  return dotted(text);
}

bool is_whole_word(std::string_view text, std::size_t at, std::size_t size) {
  return (at == 0 || !is_word(text[at - 1])) && (at + size == text.size() || !is_word(text[at + size]));
}

}  // namespace

std::vector<GlobalName> names_in_json(const Tree& tree) {
  std::vector<GlobalName> names = JsonNames(tree).all();
  std::ranges::move(names_in_hugging_face(tree), std::back_inserter(names));
  const bool is_model = tree.find(tree.root, "class_name") != nowhere && tree.find(tree.root, "config") != nowhere;
  if (is_model) std::ranges::move(foreign_keras_names(tree), std::back_inserter(names));
  return names;
}

Doubt doubt_of_words(std::string_view text, Budget& budget) {
  budget.take_memory(text.size());
  const std::string spelled_out = without_escapes(text);
  text = spelled_out;
  Doubt doubt;
  for (const Key& key : keys) {
    if (!key.beside.empty() && text.find(key.beside) == text.npos) continue;
    for (std::size_t at = text.find(key.text); at != text.npos; at = text.find(key.text, at + 1)) {
      if (!is_whole_word(text, at, key.text.size())) continue;
      const std::string_view value = value_behind(text, at + key.text.size());
      if (auto name = named(key.says, value, at)) {
        budget.take_memory(memory_of(*name));
        doubt.globals.push_back(std::move(*name));
      } else if (key.beside.empty() && value != "null") {
        doubt.why = "names what its loader calls, by words that are not followed";
      }
    }
  }
  return doubt;
}

Doubt doubt_of_yaml(std::string_view text, Budget& budget) {
  if (has_own_tag(text) || has_directive(text)) {
    return {"is YAML with tags of its own, which name what its loader makes", {}, 0};
  }
  Doubt doubt = doubt_of_words(text, budget);
  if (doubt.why.empty() && has_escapes(text)) doubt.why = "is YAML with escapes, in which names can be hidden";
  return doubt;
}

std::vector<std::string> files_outside(const Tree& tree) {
  std::vector<std::string> outside;
  const NodeId map = tree.find(tree.root, "weight_map");
  for (const NodeId node : tree.items(map)) {
    if (tree.kind(node) != Kind::string) continue;
    const std::string_view path = tree.text(node);
    const bool leads_out = path.starts_with('/') || path.starts_with("../") || path.find("/../") != path.npos ||
                           path.find('\\') != path.npos;
    if (!leads_out || outside.size() == limits::max_alike_findings) continue;
    if (std::ranges::find(outside, path) == outside.end()) outside.emplace_back(path);
  }
  return outside;
}

}  // namespace tare
