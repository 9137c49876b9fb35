// AWS signature version 4, from its public description, and Google's, which is the same under other names. What libcurl
// signs by itself differs with its release: 7.88 sorts some headers otherwise than S3, and 8.14 signs uploads of parts
// and some names otherwise.
#pragma once

#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/remote/http_object.hpp"

namespace tare {

struct ToSign {
  std::string_view method;
  std::string_view url;  ///< its path escaped as S3 does; its query in any order, escaped or not
  ByteView body;
  std::vector<std::string> lines;  ///< "name: value", each name once
};

/// The lines, and those that sign them all, by their names in order.
std::vector<std::string> signed_lines(const S3Settings& settings, const ToSign& request, std::time_t now);

}  // namespace tare
