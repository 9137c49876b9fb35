#include "lib/base/shown_url.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tare {

std::string shown_url(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  const std::size_t host = std::min(url.find("://"), url.size()) + 3;
  if (host >= url.size()) return std::string(url);
  const std::string_view authority = url.substr(host, url.find('/', host) - host);
  const std::size_t at = authority.rfind('@');
  if (at == authority.npos) return std::string(url);
  return fmt::format("{}{}", url.substr(0, host), url.substr(host + at + 1));
}

}  // namespace tare
