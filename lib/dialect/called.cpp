#include "lib/dialect/called.hpp"

#include <fmt/format.h>

namespace tare {

std::string called(std::string_view path) {
  return path.empty() ? "the state" : fmt::format("'{}'", path);
}

}  // namespace tare
