// Texts that MONAI's bundles evaluate: their configurations in JSON and YAML, which their loaders look through for
// `$expressions`. Source: monai/bundle/config_item.py (ConfigExpression), monai/bundle/workflows.py (ConfigWorkflow),
// monai/bundle/config_parser.py (split_path_id).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "lib/container/container.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// By which keys a configuration is known as a bundle's.
enum class BundleSign : std::uint8_t {
  always,         ///< nobody else has it
  as_actions,     ///< over expressions, references or a list of them
  as_expression,  ///< over an expression that reaches something
};
struct BundleKey {
  std::string_view text;
  BundleSign sign;
};
std::span<const BundleKey> bundle_keys();

/// Whether a text begins as an expression, a reference, or what is taken of another file.
bool begins_as_bundle_item(std::string_view text);

/// Whether what stands behind the dollar sign reaches more than values, and torch's and NumPy's types.
bool runs_something(std::string_view expression);

/// Whether a text is taken of another file, which may hold expressions.
bool is_of_other_file(std::string_view text);

/// Of the JSON of a bundle: `builtins.eval` for each expression that reaches something, and files that it includes.
std::vector<GlobalName> names_in_monai_bundle(const Tree& tree);

}  // namespace tare
