// What a server says that it sends of an object.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/base/bytes.hpp"

namespace tare {

struct ContentRange {
  Span range;                               ///< empty where nothing of the object is sent
  std::optional<std::uint64_t> total = {};  ///< bytes of the whole object; nothing where the server does not say
};

/// "bytes 0-511/4395236853", "bytes 0-511/*" or "bytes */512"; nothing for any other text, for ranges that leave the
/// object, and for more bytes than an object can have.
std::optional<ContentRange> parse_content_range(std::string_view text);

}  // namespace tare
