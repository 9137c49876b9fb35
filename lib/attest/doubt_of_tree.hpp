// What the values of a tree name for those who load it, beside what reading them runs: a pickle's as well as JSON's.
#pragma once

#include "lib/attest/doubt.hpp"
#include "lib/attest/tree_origin.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// What texts name by their keys and their places, and what loads bytes that are computed.
Doubt doubt_of_tree(const Tree& tree, TreeOrigin origin);

}  // namespace tare
