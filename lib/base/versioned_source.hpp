// An object of a store, which says which version of it is read.
#pragma once

#include <string>

#include "lib/base/source.hpp"

namespace tare {

class VersionedSource : public Source {
 public:
  /// As the server names it: an ETag, or the time of the last change; empty where it says neither.
  [[nodiscard]] virtual const std::string& version() const = 0;
};

/// Of a source that has none: "".
inline std::string version_of(const Source& source) {
  const auto* versioned = dynamic_cast<const VersionedSource*>(&source);
  return versioned == nullptr ? std::string() : versioned->version();
}

}  // namespace tare
