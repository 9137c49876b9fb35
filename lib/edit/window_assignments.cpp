#include "lib/edit/window_assignments.hpp"

#include <fmt/format.h>

#include <cmath>

#include "lib/base/error.hpp"
#include "lib/base/exact_integer.hpp"
#include "lib/base/text.hpp"
#include "lib/dialect/policy.hpp"
#include "lib/edit/field_key.hpp"
#include "lib/edit/new_value.hpp"
#include "lib/state/window_level.hpp"

namespace tare {
namespace {

bool is_integer(double number) {
  return number == std::trunc(number) && std::fabs(number) < 0x1p63;
}

/// The whole number that is given for a field of that role; nothing where none is.
std::optional<std::int64_t> given_for(const FoundScaler& scaler, const std::vector<Assignment>& given, Role role) {
  for (const Assignment& assignment : given) {
    if (field_of(scaler, assignment.key).role != role) continue;
    const std::string text = given_text(assignment.value);
    if (const auto integer = exact_int64(text)) return integer;
    const std::optional<double> number = parse_number(text);
    if (!number) continue;
    if (is_integer(*number)) return static_cast<std::int64_t>(*number);  // others are refused as what they are
  }
  return std::nullopt;
}

[[noreturn]] void refuse(const WindowLevel& level, const std::string& problem) {
  throw Error(Status::refused, problem,
              fmt::format("the windows are {}, levels 0 to {}; --force writes it all the same", level.list(),
                          level.windows.size() - 1));
}

/// With what the list says of it; `mismatch` becomes a refusal of the edit.
template <class Look>
std::int64_t looked_up(const WindowLevel& level, const Look& look) {
  try {
    return look();
  } catch (const Error& error) {
    if (error.status != Status::mismatch) throw;
    refuse(level, error.what());
  }
}

}  // namespace

std::vector<Assignment> with_window_levels(const FoundScaler& scaler, const std::vector<Assignment>& given) {
  if (scaler.find(Role::window_index) == nullptr) return given;
  const auto window = given_for(scaler, given, Role::growth_interval);
  const auto index = given_for(scaler, given, Role::window_index);
  const auto level = window || index ? window_level(scaler) : std::nullopt;
  if (!level) return given;
  if (window && index) {
    const bool is_one = !level->is_in_list() || looked_up(*level, [&] { return window_at(*level, *index); }) == *window;
    if (is_one) return given;
    refuse(*level, fmt::format("level {} has another window than {}", *index, *window));
  }
  if (!level->is_in_list()) {
    refuse(*level, fmt::format("the run was configured with another list than is known here (window {} at level {}): "
                               "give growth_interval and window_index",
                               level->window, level->index));
  }
  std::vector<Assignment> all = given;
  if (window) {
    const std::int64_t follows = looked_up(*level, [&] { return index_of_window(*level, *window); });
    all.push_back({std::string(name(Role::window_index)), follows});
  } else {
    const std::int64_t follows = looked_up(*level, [&] { return window_at(*level, *index); });
    all.push_back({std::string(name(Role::growth_interval)), follows});
  }
  return all;
}

}  // namespace tare
