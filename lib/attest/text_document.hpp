// Documents that are kept as texts: JSON, and pickles and zips in base64 (Stable-Baselines3's `:serialized:`).
#pragma once

#include <functional>

#include "lib/base/bytes.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// Texts in a tree that are documents: JSON as it is, a zip or a pickle that comes to an import in base64. Shows the
/// node and its bytes to `take`.
void each_text_document(const Tree& tree, const std::function<void(NodeId, Bytes)>& take);

/// The same, but only of JSON: in a pickle a text in base64 is its author's.
void each_json_text(const Tree& tree, const std::function<void(NodeId, Bytes)>& take);

}  // namespace tare
