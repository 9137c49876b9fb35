// What a field of scaler state means, in words that are the same for every framework.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tare {

enum class Role : std::uint8_t {
  scale,
  growth_tracker,
  growth_interval,
  growth_factor,
  backoff_factor,
  hysteresis,
  hysteresis_tracker,
  overflow_tracker,
  min_scale,
  max_scale,
  step,
  last_overflow_step,
  window_list,
  window_index,
  window_up_count,
  window_down_count,
  initial_scale,
  dynamic,
  amax_history,
  scale_inv,
  history_length,
};

/// What values a role can take in any framework.
enum class Quantity : std::uint8_t {
  scale,     ///< a positive finite float32
  factor,    ///< a positive finite number
  interval,  ///< a whole number of steps or overflows, 1 at least
  count,     ///< a whole number; negative ones occur
  flag,      ///< true or false
  numbers,   ///< a list
};

struct RoleFacts {
  Role role;
  std::string_view name;
  Quantity quantity;
  std::string_view meaning;
};

/// All roles, in the order in which they are listed and shown.
std::span<const RoleFacts> roles();

const RoleFacts& facts(Role role);
std::string_view name(Role role);

/// The role of that name, or of that alias ("window" is growth_interval).
std::optional<Role> parse_role(std::string_view name);

}  // namespace tare
