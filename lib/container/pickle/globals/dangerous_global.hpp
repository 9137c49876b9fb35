// Names that reach the operating system, run or import code, or hand out whatever is asked for: no checkpoint needs
// them.
#pragma once

#include <string_view>

namespace tare {

/// Whether what a pickle takes by `module` and `name` is one of them, wherever it lives: by its module, by its own name
/// where that says it all, or by what a dotted name passes on its way (`torch.utils.data`, `os.system`).
bool is_dangerous_global(std::string_view module, std::string_view name);

}  // namespace tare
