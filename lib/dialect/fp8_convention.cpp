#include "lib/dialect/fp8_convention.hpp"

namespace tare {

std::string_view name(ScaleUse use) {
  switch (use) {
    case ScaleUse::calibrated:
      return "calibrated";
    case ScaleUse::stored_data:
      return "stored_data";
    case ScaleUse::recomputed:
      break;
  }
  return "recomputed";
}

std::uint64_t finished_entries(AgeOrder order, std::uint64_t length) {
  const bool has_running = order == AgeOrder::last_first || order == AgeOrder::second;
  return has_running && length > 1 ? length - 1 : length;
}

std::uint64_t entry_of_age(AgeOrder order, std::uint64_t length, std::uint64_t age) {
  switch (order) {
    case AgeOrder::last_first:
      return length - 1 - age;
    case AgeOrder::first_wraps:
      return age == 0 ? 0 : length - age;
    case AgeOrder::second:
      return length > 1 ? 1 + age : 0;
    case AgeOrder::first:
      break;
  }
  return age;
}

}  // namespace tare
