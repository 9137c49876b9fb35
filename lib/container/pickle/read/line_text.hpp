// What the text on an opcode's line means: protocol 0 writes it with escapes.
#pragma once

#include <string>
#include <string_view>

namespace tare {

/// Of STRING, without its quotes: what Python's escapes of bytes mean. Escapes that Python does not know stay.
std::string unescaped(std::string_view text);

/// Of UNICODE: Latin-1 with \uXXXX and \UXXXXXXXX, Python's raw-unicode-escape, as UTF-8.
std::string raw_unicode(std::string_view text);

}  // namespace tare
