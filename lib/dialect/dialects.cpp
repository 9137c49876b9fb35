// The table of dialects, and what it says of a role that a state does not hold.
#include <fmt/format.h>

#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto every_dialect = std::to_array<const Dialect*>({
#define TARE_DIALECT(name) &name,
#include "lib/dialect/frameworks/table.inc"
#undef TARE_DIALECT
});

}  // namespace

std::span<const Dialect* const> dialects() {
  return every_dialect;
}

std::string how_it_is_set(const Dialect& dialect, Role role) {
  for (const Setting& setting : dialect.settings) {
    if (setting.role == role) return std::string(setting.sentence);
  }
  return fmt::format("{} has none: {}.", dialect.framework, facts(role).meaning);
}

}  // namespace tare
