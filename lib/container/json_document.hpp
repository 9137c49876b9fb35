// A JSON document that a checkpoint holds beside its values.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "lib/base/bytes.hpp"
#include "lib/base/error.hpp"

namespace tare {

using JsonDocument = nlohmann::json;

/// Throws `corrupt`, naming `name`, where `text` is no JSON, and `refused` where it is larger or nested deeper than
/// lib/base/limits.hpp allows.
JsonDocument parsed_json(ByteView text, const std::string& name);

/// What `read` gives; where it meets another document than it expects, `corrupt` that names `name`.
template <class Read>
auto with_json_errors(const std::string& name, const Read& read) {
  try {
    return read();
  } catch (const JsonDocument::exception& error) {
    throw Error(Status::corrupt, fmt::format("{}: is not as it should be: {}", name, error.what()),
                "the file is damaged; take another copy");
  }
}

}  // namespace tare
