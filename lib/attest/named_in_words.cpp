#include "lib/attest/named_in_words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "lib/attest/lightning_names.hpp"
#include "lib/attest/monai_expressions.hpp"
#include "lib/attest/naming_keys.hpp"
#include "lib/attest/own_class.hpp"

namespace tare {
namespace {

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

/// What readers of YAML take for breaks of lines beside those of ASCII, or pass over where a text begins.
constexpr auto other_breaks =
    std::to_array<std::string_view>({"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xef\xbb\xbf"});

std::string with_plain_breaks(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const std::size_t before = std::min(text.find_first_of("\xc2\xe2\xef\r"), text.size());
    plain += text.substr(0, before);
    text.remove_prefix(before);
    if (text.empty()) break;
    const auto found = std::ranges::find_if(other_breaks, [&](std::string_view b) { return text.starts_with(b); });
    const bool is_break = found != other_breaks.end() || text.front() == '\r';
    plain += is_break ? '\n' : text.front();
    text.remove_prefix(found == other_breaks.end() ? 1 : found->size());
  }
  return plain;
}

/// As a quoted text goes on in the next line behind a backslash.
std::string with_joined_lines(std::string_view text) {
  std::string joined;
  for (std::size_t at = text.find("\\\n"); at != text.npos; at = text.find("\\\n")) {
    joined += text.substr(0, at);
    text.remove_prefix(std::min(text.find_first_not_of(" \t\n", at + 1), text.size()));
  }
  return joined += text;
}

std::string_view without_front(std::string_view text, std::string_view characters) {
  text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
  return text;
}

/// What stands behind blanks, breaks and comments.
std::string_view behind_blanks(std::string_view text) {
  text = without_front(text, " \t\n");
  while (text.starts_with('#')) text = without_front(text.substr(std::min(text.find('\n'), text.size())), " \t\n");
  return text;
}

/// What stands behind a key that ends where `text` begins and the colon or equals sign that makes it one, which may
/// begin a line, as YAML's `? key` has it; else where that would be.
struct BehindKey {
  std::string_view text;
  bool is_key = false;
};
BehindKey behind_key(std::string_view text) {
  text = behind_blanks(without_front(without_front(text, "\"'"), " \t"));
  const bool is_key = text.starts_with(':') || text.starts_with('=');
  return {text.substr(is_key ? 1 : 0), is_key};
}

/// Behind what YAML may say of a value before it: an anchor, a tag, the style of its lines.
std::string_view behind_properties(std::string_view text) {
  text = behind_blanks(text);
  while (!text.empty() && std::string_view("&!|>").find(text.front()) != std::string_view::npos) {
    text = behind_blanks(text.substr(std::min(text.find_first_of(" \t\n"), text.size())));
  }
  return text;
}

/// No module has a path so long.
constexpr std::size_t longest_name = 256;

/// The name at the front of `text`, cut where it is longer than any.
std::string_view name_in_front(std::string_view text) {
  text = text.substr(0, longest_name + 1);
  return text.substr(0, static_cast<std::size_t>(std::ranges::find_if_not(text, is_in_path) - text.begin()));
}

/// Whether a value ends there: prose goes on.
bool ends_value(std::string_view text) {
  text = without_front(text, " \t\"'");
  return text.empty() || std::string_view("\n,}]#").find(text.front()) != std::string_view::npos;
}

bool is_whole_word(std::string_view text, std::size_t at, std::size_t size) {
  return (at == 0 || !is_word(text[at - 1])) && (at + size == text.size() || !is_word(text[at + size]));
}

std::size_t find_word(std::string_view text, std::string_view word, std::size_t from) {
  std::size_t at = text.find(word, from);
  while (at != text.npos && !is_whole_word(text, at, word.size())) at = text.find(word, at + 1);
  return at;
}

/// Whether an anchor stands before a word, so that it can be a key elsewhere.
bool is_anchored(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(at - std::min(at, longest_name), std::min(at, longest_name));
  const std::size_t end = before.find_last_not_of(" \t\n\"'");
  if (end == before.npos || end + 1 == before.size()) return false;
  const std::size_t begin = before.find_last_of(" \t\n,[{:", end);
  return before.substr(begin == before.npos ? 0 : begin + 1).starts_with('&');
}

/// Whether a line begins with a key, so that a value before it ended there.
bool begins_with_key(std::string_view line) {
  line = without_front(line, " \t-?\"'");
  const auto word = std::ranges::find_if_not(line, is_word);
  const std::string_view behind = without_front(line.substr(static_cast<std::size_t>(word - line.begin())), "\"'");
  return word != line.begin() && behind.starts_with(':') && (behind.size() == 1 || behind[1] == ' ');
}

/// What may still be of a value that begins where `text` does.
std::string_view before_next_key(std::string_view text) {
  std::size_t end = std::min(text.find('\n'), text.size());
  while (end < text.size()) {
    const std::string_view line = text.substr(end + 1, text.find('\n', end + 1) - end - 1);
    if (begins_with_key(line)) break;
    end += 1 + line.size();
  }
  return text.substr(0, end);
}

/// Whether a value goes on behind what looks like its end.
bool has_open_bracket(std::string_view value) {
  const auto count = [&](char c) { return std::ranges::count(value, c); };
  return count('[') > count(']') || count('{') > count('}');
}

/// Without what Python and YAML pass over as a comment.
std::string_view without_comment(std::string_view line) {
  const std::size_t end = line.find_first_of("#\"'");
  return end != line.npos && line[end] == '#' ? line.substr(0, end) : line;
}

/// The same where quotes may stand in front of the comment. One that has quotes may be the rest of a quoted text.
std::string_view without_closed_comment(std::string_view line) {
  const std::size_t end = line.find(" #");
  const std::string_view before = line.substr(0, end), behind = line.substr(before.size());
  const bool is_closed = std::ranges::count(before, '"') % 2 == 0 && std::ranges::count(before, '\'') % 2 == 0;
  return is_closed && behind.find_first_of("\"'") == behind.npos ? without_comment(before) : line;
}

/// What stands behind a layer of torch's at the front, made of numbers and truth values; else all of it.
std::string_view behind_layer(std::string_view value) {
  std::string_view rest = value.substr(value.starts_with("torch.") ? 6 : 0);
  if (!rest.starts_with("nn.")) return value;
  rest.remove_prefix(3);
  const std::size_t open = rest.find('(');
  const std::size_t end = rest.find_first_not_of("0123456789.,+-=_ abcdefghijklmnopqrstuvwxyzTF", open + 1);
  const bool is_layer = open != rest.npos && open > 0 && rest[0] >= 'A' && rest[0] <= 'Z' &&
                        std::ranges::all_of(rest.substr(0, open), is_word) && end != rest.npos && rest[end] == ')';
  return is_layer ? without_front(rest.substr(end + 1), "\"'") : value;
}

/// Whether a value in quotes may go on in the next line, where nothing tells it from a key.
bool is_left_open(std::string_view value) {
  if (value.empty() || (value.front() != '"' && value.front() != '\'')) return false;
  const std::string_view line = value.substr(0, value.find('\n'));
  return std::ranges::count(line, value.front()) % 2 != 0 || line.find('\\') != line.npos;
}

/// Whether Python would call something in what stands behind a key of YAML, up to the next key, but make a layer of
/// torch's.
bool calls_something(std::string_view behind) {
  std::string_view value = behind_properties(behind);
  const std::string_view properties = behind.substr(0, behind.size() - value.size());
  if (properties.find_first_of("|>") != properties.npos || value.starts_with('*') || is_left_open(value)) return true;
  const bool is_quoted = value.starts_with('"') || value.starts_with('\'');
  value = behind_layer(value.substr(is_quoted ? 1 : 0));
  for (bool is_first = true; !value.empty(); is_first = false) {
    const std::string_view line = value.substr(0, value.find('\n'));
    if (!is_first && begins_with_key(line)) return false;
    if (without_comment(line).find('(') != line.npos) return true;
    value.remove_prefix(std::min(line.size() + 1, value.size()));
  }
  return false;
}

/// Behind what MONAI has behind `::` or `#` in a key.
std::string_view behind_inner_key(std::string_view text) {
  if (!text.starts_with("::") && !text.starts_with('#')) return text;
  for (std::size_t at = 1; at < text.size(); ++at) {
    const bool is_colon = text[at] == ':' && (at + 1 == text.size() || text[at + 1] == ' ' || text[at + 1] == '\n');
    if (is_colon || std::string_view("\n\"'").find(text[at]) != std::string_view::npos) return text.substr(at);
  }
  return {};
}

/// Behind what begins a list, or its first item.
std::string_view behind_list(std::string_view text) {
  text = behind_properties(text);
  while (text.starts_with('[') || text.starts_with("- ") || text.starts_with("-\n")) {
    text = behind_properties(text.substr(1));
  }
  return without_front(text, "\"'");
}

/// Whether an expression of MONAI's reaches something, or may go on.
bool may_run_something(std::string_view value) {
  return value.starts_with('$') && (runs_something(value.substr(1)) || has_open_bracket(value));
}

/// The last key that begins a line before `at`, or at it: the one of the whole text that something is under.
std::string_view outer_key(std::string_view text, std::size_t at) {
  for (std::size_t end = at;;) {
    const std::size_t begin = end == 0 ? 0 : text.rfind('\n', end - 1) + 1;  // the first line begins behind none
    const std::string_view line = without_front(text.substr(begin), "\"'");
    if (!line.empty() && is_word(line.front())) return line.substr(0, line.find_first_of("\"': \t\n"));
    if (begin == 0) return {};
    end = begin - 1;
  }
}

class WordReader {
 public:
  WordReader(std::string_view text, Budget& budget) : budget_(budget) {
    budget_.take_memory(text.size());
    const std::string plain = with_plain_breaks(text);
    texts_.push_back(without_escapes(plain));
    if (plain.find("\\\n") == plain.npos) return;
    budget_.take_memory(plain.size());
    texts_.push_back(without_escapes(with_joined_lines(plain)));
  }

  void look_for(std::span<const NamingKey> keys) {
    for (const std::string& text : texts_) {
      for (const NamingKey& key : keys) look_for(key, text);
      for (const GlobalName& name : doubt_.globals) told_.insert({name.module, name.name});
    }
  }

  /// Ultralytics evaluates the activation of a model that YAML describes.
  void look_for_activations() {
    constexpr std::string_view key = "activation";
    for (const std::string& text : texts_) {
      const auto has = [&](std::string_view word) { return find_word(text, word, 0) != text.npos; };
      if (!has("backbone") && !has("head")) continue;
      for (std::size_t at = find_word(text, key, 0); at != text.npos; at = find_word(text, key, at + 1)) {
        const auto [behind, is_key] = behind_key(std::string_view(text).substr(at + key.size()));
        budget_.take_steps(behind.size());
        if (is_key && calls_something(behind)) keep({"builtins", "eval", at});
      }
    }
  }

  /// YOLOv5 evaluates the texts in each row of a model's layers; without these keys it makes none.
  void look_for_layers() {
    for (const std::string& text : texts_) {
      const auto has = [&](std::string_view word) { return find_word(text, word, 0) != text.npos; };
      if (!has("backbone") || !has("head") || !has("depth_multiple") || !has("nc")) continue;
      budget_.take_steps(text.size());
      for (std::size_t begin = 0; begin < text.size(); begin = std::min(text.find('\n', begin), text.size()) + 1) {
        const std::string_view line = std::string_view(text).substr(begin, text.find('\n', begin) - begin);
        const bool is_activation = without_front(line, " \t\"'").starts_with("activation");
        const std::size_t call = is_activation ? line.npos : without_closed_comment(line).find('(');
        if (call != line.npos) keep({"builtins", "eval", begin + call});
      }
    }
  }

  /// MONAI evaluates what begins with a dollar sign.
  void look_for_expressions() {
    for (const std::string& text : texts_) {
      if (text.find_first_of("$%") == text.npos || !is_bundle(text)) continue;
      for (std::size_t at = text.find_first_of("$%"); at != text.npos; at = text.find_first_of("$%", at + 1)) {
        const bool is_quoted = at > 0 && (text[at - 1] == '"' || text[at - 1] == '\'');
        if (!begins_node(text, is_quoted ? at - 1 : at)) continue;
        const std::string_view value = before_next_key(std::string_view(text).substr(at));
        budget_.take_steps(value.size());
        if (may_run_something(value)) keep({"builtins", "eval", at});
        if (is_of_other_file(value)) keep({std::string(name_in_front(value.substr(1))), "(included)", at});
      }
    }
  }

  /// pyannote imports what a pipeline and its preprocessors are called.
  void look_for_pipelines() {
    constexpr auto parts = std::to_array<std::string_view>({"pipeline", "preprocessors"});
    for (const std::string& text : texts_) {
      if (find_word(text, parts.front(), 0) == text.npos) continue;
      for (std::size_t at = find_word(text, "name", 0); at != text.npos; at = find_word(text, "name", at + 1)) {
        const std::string_view outer = outer_key(text, at);
        const bool is_part = std::ranges::find(parts, outer) != parts.end();
        budget_.take_steps(text.size());
        if (is_part || (outer.empty() && find_word(text, "pyannote", 0) != text.npos)) look_at_part(text, at);
      }
    }
  }

  Doubt doubt() && { return std::move(doubt_); }

 private:
  void look_at_part(std::string_view text, std::size_t at) {
    const auto [behind, is_key] = behind_key(text.substr(at + std::string_view("name").size()));
    const std::string_view bare = without_front(behind_properties(behind), "\"'");
    const std::string_view name = name_in_front(bare);
    auto global = is_key && ends_value(bare.substr(name.size())) ? named(Says::path, name, at) : std::nullopt;
    if (global && !is_own_class("pyannote", global->module, global->name)) keep(*std::move(global));
  }

  bool is_bundle(std::string_view text) {
    return std::ranges::any_of(bundle_keys(), [&](const BundleKey& key) { return is_sign(key, text); });
  }
  bool is_sign(const BundleKey& key, std::string_view text) {
    for (std::size_t at = find_word(text, key.text, 0); at != text.npos; at = find_word(text, key.text, at + 1)) {
      const auto [behind, is_key] = behind_key(behind_inner_key(text.substr(at + key.text.size())));
      const std::string_view value = behind_list(behind);
      budget_.take_steps(text.size() - at - value.size());
      if (!is_key) continue;
      const bool is_item = begins_as_bundle_item(value);
      const bool is_action = is_item || value.size() < behind_blanks(behind).size();
      if (key.sign == BundleSign::always || (key.sign == BundleSign::as_actions && is_action)) return true;
      if (is_item && may_run_something(before_next_key(value))) return true;
    }
    return false;
  }

  void look_for(const NamingKey& key, std::string_view text) {
    if (!key.beside.empty() && find_word(text, key.beside, 0) == text.npos) return;
    for (std::size_t at = find_word(text, key.text, 0); at != text.npos; at = find_word(text, key.text, at + 1)) {
      look_at(key, text, at);
    }
  }

  void look_at(const NamingKey& key, std::string_view text, std::size_t at) {
    const auto [behind, is_key] = behind_key(text.substr(at + key.text.size()));
    const std::string_view value = is_key ? behind_properties(behind) : behind;
    budget_.take_steps(text.size() - at - value.size());
    const std::string_view bare = without_front(value, "\"'");
    const std::string_view name = is_key ? name_in_front(bare) : std::string_view();
    const bool is_prose = is_yaml_key(key) && !ends_value(bare.substr(name.size()));
    const bool is_known = !is_prose && name.size() <= longest_name;
    const bool is_elsewhere = is_key ? is_reference(key, bare) : is_yaml_key(key) && is_anchored(text, at);
    if (auto global = is_known ? named(key.says, name, at) : std::nullopt) {
      keep(std::move(*global));
    } else if (is_elsewhere || name.size() > longest_name || (is_its_own(key) && name != "null")) {
      doubt_.why = "names what its loader calls, by words that are not followed";
    }
  }

  /// Whether it is looked for in YAML alone, which has anchors and aliases.
  static bool is_yaml_key(const NamingKey& key) { return key.says == Says::likely_path; }

  /// Whether a value says where another one is: an alias, an interpolation where that stands for a name.
  static bool is_reference(const NamingKey& key, std::string_view value) {
    return is_yaml_key(key) ? value.starts_with('*') : !key.beside.empty() && value.starts_with("${");
  }

  /// Whether nobody has the key for anything else.
  static bool is_its_own(const NamingKey& key) { return key.beside.empty() && !is_yaml_key(key); }

  void keep(GlobalName name) {
    if (is_maker_of_lightning(name) || is_torch_class(name.module, name.name)) return;
    if (!told_.empty() && told_.contains({name.module, name.name})) return;
    budget_.take_memory(memory_of(name));
    doubt_.globals.push_back(std::move(name));
  }

  Budget& budget_;
  std::vector<std::string> texts_;  ///< without escapes; the same with joined lines, if there are any
  Doubt doubt_;
  std::set<std::pair<std::string, std::string>> told_;  ///< of another text, or other keys
};

}  // namespace

Doubt doubt_of_words(std::string_view text, Budget& budget) {
  WordReader reader(text, budget);
  reader.look_for(naming_keys());
  reader.look_for(text_naming_keys());
  return std::move(reader).doubt();
}

Doubt doubt_of_yaml(std::string_view text, Budget& budget) {
  budget.take_memory(text.size());
  const std::string plain = with_plain_breaks(text);
  if (has_own_tag(plain) || has_directive(plain)) {
    return {"is YAML with tags of its own, which name what its loader makes", {}, 0};
  }
  WordReader reader(plain, budget);
  reader.look_for(naming_keys());
  reader.look_for(text_naming_keys());
  reader.look_for(lone_naming_keys());
  reader.look_for_pipelines();
  reader.look_for_expressions();
  reader.look_for_activations();
  reader.look_for_layers();
  Doubt doubt = std::move(reader).doubt();
  if (doubt.why.empty() && has_escapes(plain)) doubt.why = "is YAML with escapes, in which names can be hidden";
  return doubt;
}

}  // namespace tare
