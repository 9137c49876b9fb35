#include "lib/base/files.hpp"

#include <algorithm>
#include <array>

#include "lib/base/letters.hpp"

namespace tare {

bool is_url(std::string_view path) {
  constexpr auto schemes = std::to_array<std::string_view>({"http://", "https://", "s3://", "gs://", "az://", "hf://"});
  return std::any_of(schemes.begin(), schemes.end(), [&](std::string_view scheme) {
    return path.size() > scheme.size() &&
           std::equal(scheme.begin(), scheme.end(), path.begin(), [](char a, char b) { return a == small_letter(b); });
  });
}

}  // namespace tare
