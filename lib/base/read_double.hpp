// std::from_chars of double, for libraries of C++ that lack it, and what it leaves out.
#pragma once

#include <charconv>
#include <string_view>

namespace tare {

/// As std::from_chars, but by the C library.
std::from_chars_result double_by_strtod(const char* begin, const char* end, double& value,
                                        std::chars_format format = std::chars_format::general);

/// std::from_chars, in whichever way there is: libc++ has it since 20.
inline std::from_chars_result read_double(const char* begin, const char* end, double& value,
                                          std::chars_format format = std::chars_format::general) {
#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000
  return double_by_strtod(begin, end, value, format);
#else
  return std::from_chars(begin, end, value, format);
#endif
}

/// The double nearest to a decimal number, however far out of range that is: zero or an infinity then, of its sign.
double nearest_double(std::string_view number);

}  // namespace tare
