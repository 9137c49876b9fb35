#include "lib/state/role.hpp"

#include <array>

namespace tare {
namespace {

constexpr auto table = std::to_array<RoleFacts>({
    {Role::scale, "scale", Quantity::scale, "what the loss is multiplied by"},
    {Role::growth_tracker, "growth_tracker", Quantity::count, "clean steps counted towards the next growth"},
    {Role::growth_interval, "growth_interval", Quantity::interval, "clean steps that a growth needs"},
    {Role::growth_factor, "growth_factor", Quantity::factor, "multiplier at growth"},
    {Role::backoff_factor, "backoff_factor", Quantity::factor, "multiplier at back-off"},
    {Role::hysteresis, "hysteresis", Quantity::interval, "overflows that a back-off needs"},
    {Role::hysteresis_tracker, "hysteresis_tracker", Quantity::count, "overflows still allowed before a back-off"},
    {Role::overflow_tracker, "overflow_tracker", Quantity::count, "overflows counted so far towards a back-off"},
    {Role::min_scale, "min_scale", Quantity::scale, "lower bound of the scale"},
    {Role::max_scale, "max_scale", Quantity::scale, "upper bound of the scale"},
    {Role::step, "step", Quantity::count, "steps made"},
    {Role::last_overflow_step, "last_overflow_step", Quantity::count, "the step of the last overflow"},
    {Role::window_list, "window_list", Quantity::numbers, "windows to choose from"},
    {Role::window_index, "window_index", Quantity::count, "which window of the list is in use"},
    {Role::window_up_count, "window_up_count", Quantity::count, "growths counted towards a larger window"},
    {Role::window_down_count, "window_down_count", Quantity::count, "overflows counted towards a smaller window"},
    {Role::initial_scale, "initial_scale", Quantity::scale, "where a fresh scaler starts"},
    {Role::dynamic, "dynamic", Quantity::flag, "whether the scale moves at all"},
    {Role::amax_history, "amax_history", Quantity::numbers, "largest absolute values of past steps"},
    {Role::scale_inv, "scale_inv", Quantity::numbers, "reciprocal of the scale"},
    {Role::history_length, "history_length", Quantity::interval, "rows of the amax history"},
});

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (static_cast<std::size_t>(table[i].role) != i) return false;
  }
  return true;
}
static_assert(is_in_order(), "facts() takes a role for its row");

}  // namespace

std::span<const RoleFacts> roles() {
  return table;
}

const RoleFacts& facts(Role role) {
  return table[static_cast<std::size_t>(role)];
}

std::string_view name(Role role) {
  return facts(role).name;
}

std::optional<Role> parse_role(std::string_view name) {
  if (name == "window") return Role::growth_interval;
  for (const RoleFacts& row : table) {
    if (row.name == name) return row.role;
  }
  return std::nullopt;
}

}  // namespace tare
