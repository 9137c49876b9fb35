// Documents that stand as a value in another: a pickle in a uint8 tensor, a whole torch.save in an io.BytesIO. Opened
// one level at a time and only when somebody asks, so a file that nests without end costs nothing.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/container/container.hpp"

namespace tare {

/// The node of the bytes that `node` is or, an io.BytesIO, holds; nowhere for others.
NodeId bytes_node(const Tree& tree, NodeId node);

/// The bytes that a node holds: of bytes, of an io.BytesIO, of a one-dimensional uint8 tensor; nothing for other nodes.
/// Throws `refused` for more than limits::max_nested_bytes, and what reading throws.
std::optional<Bytes> contents_of(const Tree& tree, NodeId node);

/// `contents` as a file of its own, whose reading costs the one that `tree` was read from. Throws `refused` where that
/// has had its share.
std::shared_ptr<const Source> nested_source(const Tree& tree, const std::string& file, Bytes contents);

/// The document in a node; null where it holds no bytes, or none at all. `file` names the file in messages. Throws what
/// open_container throws.
std::unique_ptr<Container> open_nested(const Tree& tree, NodeId node, const std::string& file);
/// The same as a tree that owns its container: what a TensorReader hands out.
std::shared_ptr<const Tree> open_nested_tree(const Tree& tree, NodeId node, const std::string& file);

/// `changes` with those inside nested documents turned into new contents of the nodes that hold these.
std::vector<NodeChange> without_nesting(const Tree& tree, std::span<const NodeChange> changes, const std::string& file);

}  // namespace tare
