// Bounds on what a journal may ask for that this user's key did not seal.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tare::limits {

inline constexpr std::uint64_t max_foreign_journal_bytes = std::uint64_t{8} << 20;  ///< and on what is kept of all such
inline constexpr std::size_t max_origin_bytes = 4096;                               ///< of each text of a header

}  // namespace tare::limits
