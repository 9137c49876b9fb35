// The answers of a server that are told apart.
#pragma once

namespace tare::http {

inline constexpr long ok = 200;
inline constexpr long partial_content = 206;
inline constexpr long first_redirect = 300;
inline constexpr long not_found = 404;
inline constexpr long conflict = 409;
inline constexpr long precondition_failed = 412;
inline constexpr long range_not_satisfiable = 416;

}  // namespace tare::http
