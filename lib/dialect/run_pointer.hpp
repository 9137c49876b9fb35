// What the texts of run pointers mean, as several trainers read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tare {

/// The name that is written there.
std::optional<std::string> name_as_written(std::string_view text);

/// The last part of the path that it was saved under, which a folder that moved keeps.
std::optional<std::string> last_part_of_path(std::string_view text);

/// A path that is absolute.
std::optional<std::string> absolute_path(std::string_view text);

/// A number without a sign, and nothing else.
std::optional<std::uint64_t> iteration_number(std::string_view text);

}  // namespace tare
