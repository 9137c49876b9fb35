// A container some of whose values are compressed: these do not change where they stand.
#pragma once

#include "lib/tree/tree.hpp"

namespace tare {

class WithPackedValues {
 public:
  virtual ~WithPackedValues() = default;
  [[nodiscard]] virtual bool is_packed(NodeId node) const = 0;
};

}  // namespace tare
