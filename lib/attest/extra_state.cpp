#include "lib/attest/extra_state.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/holds.hpp"
#include "lib/base/text.hpp"
#include "lib/container/pickle/read/opcode.hpp"

namespace tare {
namespace {

constexpr std::array<std::string_view, 4> delayed_keys{"scale_fwd", "amax_history_fwd", "scale_bwd",
                                                       "amax_history_bwd"};

constexpr std::string_view recipe_module = "transformer_engine.common.recipe";
constexpr std::string_view stateful_recipe = "DelayedScaling";
/// Recipes that keep nothing in a checkpoint (CustomRecipe: known, and judged by the rest).
constexpr std::array<std::string_view, 5> other_recipes{"Float8CurrentScaling", "MXFP8BlockScaling",
                                                        "Float8BlockScaling", "NVFP4BlockScaling", "CustomRecipe"};

/// What an opcode scan sees.
struct Seen {
  bool has_recipe_key = false;
  bool has_delayed_keys = false;
  bool has_global = false;
  bool has_stateful_recipe = false;
  bool has_known_recipe = false;
};

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// What stands between the quotes of a STRING; nothing where pickletools would not read it.
std::optional<std::string_view> unquoted(std::string_view line) {
  const bool is_quoted = line.size() >= 2 && (line[0] == '\'' || line[0] == '"') && line.back() == line[0];
  return is_quoted && is_ascii(line) ? std::optional(line.substr(1, line.size() - 2)) : std::nullopt;
}

/// The text of an opcode that pushes some; nothing for others. Throws `corrupt` for text that pickletools does not
/// read.
std::optional<std::string_view> text_of(const PickleOp& op, const PickleScanner& scanner) {
  const std::string_view text = as_text(op.argument);
  switch (op.code) {
    case Opcode::binunicode:
    case Opcode::short_binunicode:
    case Opcode::binunicode8:
      if (!is_utf8(text)) scanner.fail(op.begin, "text that is no UTF-8");
      return text;
    case Opcode::string_text:
      if (!unquoted(text)) scanner.fail(op.begin, "text without quotes");
      return unquoted(text);
    case Opcode::unicode_text:
    case Opcode::binstring:
    case Opcode::short_binstring:
      return text;
    default:
      return std::nullopt;
  }
}

void note_recipe(Seen& seen, std::string_view module, std::string_view name) {
  if (module != recipe_module) return;
  seen.has_stateful_recipe |= name == stateful_recipe;
  seen.has_known_recipe |= name == stateful_recipe || holds(other_recipes, name);
}

/// Throws `corrupt` for what is no pickle to its STOP.
Seen scan(ByteView pickle) {
  Seen seen;
  std::array<std::string_view, 2> last;  // the last two texts, which STACK_GLOBAL is taken to name
  PickleScanner scanner(pickle, "extra state");
  for (PickleOp op = scanner.next(); op.code != Opcode::stop; op = scanner.next()) {
    if (const auto text = text_of(op, scanner)) {
      last = {last[1], *text};
      seen.has_recipe_key |= *text == "recipe";
      seen.has_delayed_keys |= holds(delayed_keys, *text);
    } else if (op.code == Opcode::global || op.code == Opcode::inst) {
      const std::string_view names = as_text(op.argument);
      if (!is_utf8(names)) scanner.fail(op.begin, "names that are no UTF-8");
      if (op.code == Opcode::inst) continue;  // which TransformerEngine does not take for a global
      seen.has_global = true;
      const std::size_t end = names.find('\n');
      if (end != names.npos) note_recipe(seen, names.substr(0, end), names.substr(end + 1));
    } else if (op.code == Opcode::stack_global) {
      seen.has_global = true;
      note_recipe(seen, last[0], last[1]);
    }
  }
  return seen;
}

}  // namespace

bool is_extra_state_key(std::string_view key) {
  key = key.substr(0, key.find("/shard_"));
  const std::size_t last = key.find_last_not_of("0123456789");
  return last != key.npos && key.substr(0, last + 1).ends_with("_extra_state");
}

ExtraStateFate fate_of_pickle(ByteView pickle) {
  if (pickle.empty()) return {false, "empty"};
  Seen seen;
  try {
    seen = scan(pickle);
  } catch (const Error& error) {
    if (error.status != Status::corrupt) throw;
    return {true, "no pickle that can be followed"};
  }
  if (!seen.has_global && !seen.has_delayed_keys) return {false, "names nothing, so it can run nothing"};
  if (!seen.has_recipe_key) return {true, "names classes, but has no recipe"};
  if (seen.has_stateful_recipe || seen.has_delayed_keys) return {true, "delayed scaling keeps its state in a pickle"};
  if (!seen.has_known_recipe) return {true, "names no recipe that is known"};
  return {false, "a recipe that keeps no state"};
}

ExtraStateFate fate_of_stream() {
  return {true, "an io.BytesIO, as TransformerEngine 1.x writes it"};
}

}  // namespace tare
