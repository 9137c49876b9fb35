// The key at a file's root under which a scaler stands.
#pragma once

#include <string>
#include <string_view>

#include "lib/tree/tree.hpp"

namespace tare {

/// `path` with `key` for its first part.
std::string under_root_key(std::string_view path, std::string_view key);

/// The key that the first part of `path` names. Throws `refused` where there is none that a file could change.
NodeId root_key_of(const Tree& tree, std::string_view path);

}  // namespace tare
