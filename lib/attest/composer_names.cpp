#include "lib/attest/composer_names.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

#include "lib/attest/literal_config.hpp"
#include "lib/attest/naming_keys.hpp"
#include "lib/attest/own_class.hpp"
#include "lib/attest/text_value.hpp"
#include "lib/base/holds.hpp"

namespace tare {
namespace {

/// Others are refused.
constexpr auto written_endings = std::to_array<std::string_view>({".jinja", ".json", ".model", ".py", ".txt"});

/// Of an object that has no text of its own, and that Python cannot read.
bool is_address(std::string_view text) {
  return text.starts_with('<');
}

bool is_made_of_literals(std::string_view text) {
  return is_class_name(text.substr(0, text.find('('))) && is_call_with_literals(text);
}

}  // namespace

Doubt doubt_of_algorithms(const Tree& tree, NodeId algorithms) {
  Doubt doubt;
  for (const NodeId pair : tree.items(algorithms)) {
    for (const NodeId part : tree.items(pair)) {
      const NodeId value = tree.find(keyed(tree, part), "repr");
      const std::string_view text = text_in(tree, value);
      tree.take_steps(text.size() + 1);
      if (text.empty() || is_address(text) || is_made_of_literals(text)) continue;
      doubt.globals.push_back({"builtins", "eval", tree.span(value).offset});
      tree.take_memory(memory_of(doubt.globals.back()));
    }
  }
  return doubt;
}

Doubt doubt_of_written_files(const Tree& tree, NodeId files) {
  Doubt doubt;
  const NodeId map = keyed(tree, files);
  const auto pairs = tree.items(map);
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    std::string name(text_in(tree, pairs[i]));
    const std::string_view ending = text_in(tree, tree.find(keyed(tree, pairs[i + 1]), "file_extension"));
    if (!holds(written_endings, ending)) continue;
    if (!name.ends_with(ending)) name += ending;
    const bool is_outside = name.find_first_of("/\\") != name.npos || name.find("..") != name.npos;
    if (is_outside || name.ends_with(".py")) {
      doubt.why = fmt::format("its loader writes a file {} for the tokenizer", name);
    }
  }
  return doubt;
}

Doubt doubt_of_hub_code(const Tree& tree, NodeId configuration) {
  const NodeId map = keyed(tree, configuration);
  const NodeId asks = tree.find(map, "trust_remote_code");
  if (asks == nowhere || tree.kind(asks) == Kind::none) return {};
  if (tree.kind(asks) == Kind::boolean && tree.value(asks, 0).as_double() == 0) return {};
  const std::string_view name = text_in(tree, tree.find(map, "_name_or_path"));
  return {"", {{name.empty() ? "transformers" : std::string(name), "(code of the Hub)", tree.span(asks).offset}}, 0};
}

}  // namespace tare
