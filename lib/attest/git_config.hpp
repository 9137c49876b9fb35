// Git's configuration in a folder that comes with it: git runs what many of its values say.
#pragma once

#include <string>
#include <string_view>

namespace tare {

/// Whether a file of that name is one: of a clone, of a work tree or a submodule in it, of a user.
bool is_git_config(std::string_view name);

/// Whether a file is a hook, there or in a submodule, and no sample of one.
bool is_git_hook(std::string_view name);

/// The first setting in it, as `section.key`, that is none of those that a clone has, or has another value; "a
/// continued line" where one goes on behind a backslash. Empty where there is none.
std::string foreign_git_setting(std::string_view text);

}  // namespace tare
