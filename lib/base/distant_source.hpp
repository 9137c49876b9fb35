// A source of which each read is a round trip.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "lib/base/versioned_source.hpp"

namespace tare {

class DistantSource : public VersionedSource {
 public:
  /// Reads these ranges, many at the same time, and keeps them for whoever asks for a part of one. What does not fit
  /// into the memory that is meant for it is left to be read when it is asked for. Throws as read() does.
  virtual void fetch_ahead(std::vector<Span> ranges) const = 0;

 protected:
  DistantSource() = default;
  explicit DistantSource(std::shared_ptr<Budget> budget) : VersionedSource(std::move(budget)) {}
};

inline bool is_distant(const Source& source) {
  return dynamic_cast<const DistantSource*>(&source) != nullptr;
}

/// Of any other source: nothing.
inline void fetch_ahead(const Source& source, std::vector<Span> ranges) {
  const auto* distant = dynamic_cast<const DistantSource*>(&source);
  if (distant != nullptr) distant->fetch_ahead(std::move(ranges));
}

}  // namespace tare
