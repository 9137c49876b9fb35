// What a server says that it sends of an object.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/base/bytes.hpp"

namespace tare {

struct ContentRange {
  Span range;               ///< empty where nothing of the object is sent
  std::uint64_t total = 0;  ///< bytes of the whole object
};

/// "bytes 0-511/4395236853" or "bytes */512"; nothing for any other text, for ranges that leave the object, and for
/// more bytes than an object can have.
std::optional<ContentRange> parse_content_range(std::string_view text);

}  // namespace tare
