#include "lib/codec/hdf5_name.hpp"

namespace tare {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string link_name(const std::string& name) {
  static constexpr char digits[] = "0123456789ABCDEF";
  const bool only_dots = name.find_first_not_of('.') == std::string::npos;
  std::string link;
  for (const char c : name) {
    if (c == '/' || c == '%' || (only_dots && c == '.')) {
      const auto byte = static_cast<unsigned char>(c);
      link += {'%', digits[byte >> 4], digits[byte & 15]};
    } else {
      link += c;
    }
  }
  return link.empty() ? "%" : link;
}

std::string name_of_link(const std::string& link) {
  if (link == "%") return {};
  std::string name;
  for (std::size_t i = 0; i < link.size(); ++i) {
    const bool coded =
        link[i] == '%' && i + 2 < link.size() && hex_digit(link[i + 1]) >= 0 && hex_digit(link[i + 2]) >= 0;
    name += coded ? static_cast<char>(hex_digit(link[i + 1]) * 16 + hex_digit(link[i + 2])) : link[i];
    if (coded) i += 2;
  }
  return name;
}

}  // namespace tare
