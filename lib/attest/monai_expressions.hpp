// Texts that MONAI's bundles evaluate. Source: monai/bundle/config_item.py, ConfigExpression.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "lib/container/container.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// Keys of a bundle's configuration, of which each has one at least.
std::span<const std::string_view> monai_keys();

/// Whether an expression behind its `$` calls or imports something: one that does not takes values of others, and
/// counts with them.
bool runs_something(std::string_view expression);

/// `builtins.eval` for each expression in a bundle that runs something.
std::vector<GlobalName> names_in_monai_bundle(const Tree& tree);

}  // namespace tare
