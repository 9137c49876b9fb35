// Files that are compressed as a whole: gzip, zlib and lzma, as joblib and others write them. They are unpacked
// into memory to be read; nothing in them has bytes of its own that an edit could change.
#pragma once

#include <memory>
#include <string>

#include "lib/container/container.hpp"

namespace tare {

bool starts_like_compressed(ByteView head);

/// What is unpacked is opened as any file is. Throws `corrupt` where it does not unpack, `refused` where it unpacks to
/// more than the file's budget allows or to something compressed again, and what open_container throws.
std::unique_ptr<Container> open_compressed(const std::shared_ptr<const Source>& source);

/// What a file unpacks to.
struct Unpacked {
  std::shared_ptr<const Source> source;
  std::string problem;  ///< why it does not go on, where it breaks off or something stands behind it; else empty
};

/// As far as it unpacks: loaders read that before they find that it breaks off. Throws `refused` where it is more than
/// the file's budget allows. REQUIRES: starts_like_compressed.
Unpacked unpack(const std::shared_ptr<const Source>& source);

}  // namespace tare
