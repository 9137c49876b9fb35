// Files beside a checkpoint's own: texts, pictures, tokenizers, TensorBoard's events, code, and what nobody knows.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "lib/attest/doubt.hpp"
#include "lib/base/source.hpp"

namespace tare {

/// What is wrong with a file that is in no container's format; nothing for text, pictures, tokenizers, events and
/// nothing at all, which no loader runs. `otherwise` is what is said of bytes that are none of these.
Doubt doubt_of_file(const std::shared_ptr<const Source>& source, std::string_view name, const std::string& otherwise);

/// By its ending: scripts, programs, libraries.
bool is_code(std::string_view name);

/// Of UTF-8 or Latin-1 without control characters. Files beyond 64 MiB count as none.
bool is_text(const Source& source);

}  // namespace tare
