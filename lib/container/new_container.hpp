// Files made from nothing: small ones, that hold a scaler alone.
#pragma once

#include <string_view>

#include "lib/base/bytes.hpp"
#include "lib/tree/document.hpp"

namespace tare {

/// The bytes of a file in that format ("torch_zip", "pickle", "mindspore" ...), as its own writer would lay it out.
/// `stem` is the file's name without its ending: torch puts it in front of every record. Throws `unsupported` for a
/// format that is not written, `refused` for a document that it cannot hold.
Bytes new_container(std::string_view format, const Document& document, std::string_view stem);

}  // namespace tare
