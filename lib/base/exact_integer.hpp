// Whole numbers as a user writes them, exact beyond what a double tells apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tare {

/// In decimal: of 65536, -1, 0x10, 2^16 and 2**16, each of any size up to 400 digits. Nothing for all else, also for
/// what parse_number takes in another form (0.5, 1e3, 0x1p4).
std::optional<std::string> exact_decimal(std::string_view text);

/// The same where it fits.
std::optional<std::int64_t> exact_int64(std::string_view text);

}  // namespace tare
