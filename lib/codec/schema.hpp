// Which state files this tare reads.
#pragma once

#include <string>
#include <string_view>

namespace tare {

/// Throws `unsupported` for a newer version of the schema, `corrupt` for another one.
void require_readable_schema(std::string_view schema, const std::string& file);

}  // namespace tare
