// Whether a file begins as a tar archive does, as Python's tarfile sees it, which torch.load asks first.
#pragma once

#include "lib/base/source.hpp"

namespace tare {

/// Its first block has a checksum that is right, however it is written. Source: CPython, Lib/tarfile.py, nti and
/// calc_chksums.
bool begins_as_tar(const Source& source);

}  // namespace tare
