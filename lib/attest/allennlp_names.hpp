// Classes that AllenNLP's configurations and Tango's name by their paths, where others have a registered word.
// Source: allennlp and tango, common/registrable.py (resolve_class_name), common/params.py, commands (include_package).
#pragma once

#include <vector>

#include "lib/container/container.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// Of JSON as a whole: `type` anywhere, other texts that look like the path of a class, and packages to include.
std::vector<GlobalName> names_for_allennlp(const Tree& tree);

}  // namespace tare
