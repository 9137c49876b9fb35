// An object of a store, which says which version of it is read.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "lib/base/source.hpp"

namespace tare {

class VersionedSource : public Source {
 public:
  /// As the server names it: an ETag, or the time of the last change; empty where it says neither.
  [[nodiscard]] virtual const std::string& version() const = 0;
  /// Can nothing of it be changed where it stands, so that an edit puts all that is new behind its end?
  [[nodiscard]] virtual bool only_grows() const { return false; }

 protected:
  VersionedSource() = default;
  explicit VersionedSource(std::shared_ptr<Budget> budget) : Source(std::move(budget)) {}
};

/// Of a source that has none: "".
inline std::string version_of(const Source& source) {
  const auto* versioned = dynamic_cast<const VersionedSource*>(&source);
  return versioned == nullptr ? std::string() : versioned->version();
}

/// Of a source that has no versions: no.
inline bool only_grows(const Source& source) {
  const auto* versioned = dynamic_cast<const VersionedSource*>(&source);
  return versioned != nullptr && versioned->only_grows();
}

}  // namespace tare
