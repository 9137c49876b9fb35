// What will be asked for of a tree whose elements may be far away, told before it is asked for.
#pragma once

#include <span>

#include "lib/base/limits.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// What is larger may be shown without its elements, and is a request of its own in any case.
inline constexpr std::uint64_t most_bytes_ahead = limits::max_field_elements;

/// What a TensorReader is, too, whose elements may be far away.
class ReadsAhead {
 public:
  virtual ~ReadsAhead() = default;
  [[nodiscard]] virtual bool is_far() const = 0;
  /// The elements of these nodes, which may be of any kind, are asked for soon: those of tensors of at most
  /// `most_bytes_ahead` are read at the same time. Throws `io` where reading fails.
  virtual void read_ahead(std::span<const NodeId> nodes) const = 0;
};

/// Who is to be told of what will be asked for; null where nothing of it is far away.
inline const ReadsAhead* far_reader(const Tree& tree) {
  const auto* reader = dynamic_cast<const ReadsAhead*>(tree.reader());
  return reader != nullptr && reader->is_far() ? reader : nullptr;
}

}  // namespace tare
