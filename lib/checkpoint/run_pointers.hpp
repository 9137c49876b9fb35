// Text files that say which save of a run is resumed from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/files.hpp"
#include "lib/base/finding.hpp"

namespace tare {

/// The text of a link in a copy of a run that lost its links, without blanks around it; nothing for a file of more than
/// a short line.
std::optional<std::string> link_text(const Source& file);

/// The folder or file below `directory` that a trainer's pointer names; says in `findings` whose. Nothing where none is
/// there, and for a file that is no short text: a checkpoint may be called "latest" too. Throws `refused` for what is
/// no plain name of something inside, an empty pointer too, LinkNotFollowed for a link out of the run, `not_found` for
/// what is not there.
std::optional<std::string> by_pointer(const Files& files, const std::string& directory, std::vector<Finding>& findings);

/// What by_pointer throws of a pointer by which nothing can be resumed; nothing of a path elsewhere, which a framework
/// opens as it stands.
std::optional<Error> pointer_problem(const Files& files, const std::string& directory);

}  // namespace tare
