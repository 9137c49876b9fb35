// The way to a folder, on which no link is followed: by the kernel, or by us where it cannot.
#pragma once

#include <string>

namespace tare {

/// Opens the folder at `path`, to find names in it: below the open folder `base`, or from the root for `no_folder`. A
/// negative errno where any part is a link, or leads out of `base`; -ENOSYS where the kernel (before Linux 5.6) or a
/// sandbox has no such call.
int walk_at_once(int base, const std::string& path);

/// The same, one part after the other, each held open until the next one is; ".." is refused (-EXDEV).
int walk_by_parts(int base, const std::string& path);

}  // namespace tare
