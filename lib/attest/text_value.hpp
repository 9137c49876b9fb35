// Texts in a tree, whatever they are kept in.
#pragma once

#include <string_view>

#include "lib/tree/tree.hpp"

namespace tare {

/// The node of a text: itself, or what OmegaConf's node for one value holds; nowhere for others.
NodeId text_node(const Tree& tree, NodeId node);

/// The text in a node; empty for what is none, and for nowhere.
std::string_view text_in(const Tree& tree, NodeId node);

/// What a node has under keys: a map, an object's attributes, what OmegaConf's DictConfig holds. nowhere for others.
NodeId keyed(const Tree& tree, NodeId node);

}  // namespace tare
