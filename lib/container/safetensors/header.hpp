// The header of a safetensors image: JSON that names each tensor's type, shape and place.
// Source: the format's description at huggingface/safetensors.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/source.hpp"
#include "lib/tree/tensor.hpp"

namespace tare {

inline constexpr std::uint64_t safetensors_length_size = 8;  ///< of the header, in front of it

/// A part of what a header keeps for all of its entries: there can be a million of them.
struct SafetensorsRun {
  std::uint32_t first = 0, count = 0;
};

struct SafetensorsEntry {
  SafetensorsRun name, shape;
  const ElementType* stored_type = nullptr;  ///< static
  Span place;                                ///< in the image
  SafetensorsRun described;                  ///< where the header says so, in the image: name and value

  /// Of size 0 where tare does not know it.
  [[nodiscard]] ElementType type() const { return stored_type == nullptr ? ElementType() : *stored_type; }
  [[nodiscard]] Span member() const { return {described.first, described.count}; }
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;                      ///< in the header's order
  std::vector<std::pair<std::string, std::string>> metadata;  ///< what `__metadata__` holds
  Span data;                                                  ///< all behind the header
  Span metadata_member;
  std::shared_ptr<const Bytes> names;  ///< one behind the other
  std::vector<std::int64_t> sizes;     ///< of shapes, of which many entries may have the same

  /// Valid as long as `names` is.
  [[nodiscard]] std::string_view name(const SafetensorsEntry& entry) const {
    return as_text(ByteView(*names).subspan(entry.name.first, entry.name.count));
  }
  [[nodiscard]] std::span<const std::int64_t> shape(const SafetensorsEntry& entry) const {
    return std::span(sizes).subspan(entry.shape.first, entry.shape.count);
  }
  /// That of one of its tensors alone.
  [[nodiscard]] SafetensorsHeader of(const SafetensorsEntry& entry) const;
};

/// Reads the header of the image that `source` is. Throws `corrupt` where it is no such header or contradicts itself,
/// `refused` where it is larger than any that the format's own reader takes.
SafetensorsHeader read_safetensors_header(const Source& source);

}  // namespace tare
