// Files that are compressed as a whole: gzip, zlib and lzma, as joblib and others write them. They are unpacked
// into memory to be read; nothing in them has bytes of its own that an edit could change.
#pragma once

#include <memory>

#include "lib/container/container.hpp"

namespace tare {

bool starts_like_compressed(ByteView head);

/// What is unpacked is opened as any file is. Throws `corrupt` where it does not unpack, `refused` where it unpacks to
/// more than the file's budget allows or to something compressed again, and what open_container throws.
std::unique_ptr<Container> open_compressed(const std::shared_ptr<const Source>& source);

}  // namespace tare
