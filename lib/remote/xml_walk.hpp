// XML that a server sends, element by element.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/bytes.hpp"

namespace tare {

/// The names of the elements that are open, the outermost first.
using XmlPath = std::span<const std::string>;

bool is_at(XmlPath path, std::initializer_list<std::string_view> names);

struct XmlReader {
  std::function<void(XmlPath path)> on_begin;
  /// `text`: what stands in the element itself; `is_escaped`: it has an attribute Encoded="true". False where it is
  /// none that can be.
  std::function<bool(XmlPath path, const std::string& text, bool is_escaped)> on_end;
};

/// Where and why reading ends before the end; empty where it does not. Document types, whose entities can grow without
/// end, are not read, nor is what is nested deeper than listings are.
std::string walk_xml(ByteView xml, const XmlReader& reader);

}  // namespace tare
