// Where journals that concern a path of a store can be, and which of them do.
#pragma once

#include <string>
#include <vector>

#include "lib/objects/object_home.hpp"

namespace tare {

/// `path` itself, and all that it is in, up to the bucket.
std::vector<std::string> folders_to_look_into(const std::string& path);

/// Is any object of the journal the one at `path`, or below it?
bool touches(const ObjectHome& home, const Journal& journal, const std::string& path);

}  // namespace tare
