#include "lib/base/files.hpp"

#include <algorithm>
#include <array>

namespace tare {

bool is_url(std::string_view path) {
  constexpr auto schemes = std::to_array<std::string_view>({"http://", "https://", "s3://", "gs://", "az://", "hf://"});
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::any_of(schemes.begin(), schemes.end(), [&](std::string_view scheme) {
    return path.size() > scheme.size() &&
           std::equal(scheme.begin(), scheme.end(), path.begin(), [&](char a, char b) { return a == lower(b); });
  });
}

}  // namespace tare
