#include "lib/scaler/megatron_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "lib/scaler/config_values.hpp"

namespace tare {
namespace {

struct Argument {
  std::string_view name, parameter;
};

/// Of the dynamic scaler; `hysteresis` is called so in both.
constexpr auto arguments = std::to_array<Argument>({
    {"initial_loss_scale", "initial_scale"},
    {"min_loss_scale", "min_scale"},
    {"loss_scale_window", "growth_interval"},
});

/// What another choice than the dynamic scaler does not read.
constexpr auto unread = std::to_array<std::string_view>(
    {"initial_loss_scale", "min_loss_scale", "loss_scale_window", "hysteresis", "fp16", "bf16"});

std::optional<bool> flag_in(const StateSection& config, std::string_view key) {
  const StateValue* value = config.find(key);
  if (value == nullptr) return std::nullopt;
  const auto* flag = std::get_if<bool>(value);
  if (flag == nullptr) refuse_config(fmt::format("\"{}\" is neither true nor false", key));
  return *flag;
}

/// None and 0 are no constant scale.
bool names_scale(const StateSection& config) {
  const StateValue* value = config.find("loss_scale");
  return value != nullptr && !std::holds_alternative<std::monostate>(*value) && number_of(*value, "loss_scale") != 0;
}

/// "" for the dynamic scaler.
std::string_view choice(const StateSection& config) {
  const auto fp16 = flag_in(config, "fp16"), bf16 = flag_in(config, "bf16");
  if (fp16 == true && bf16 == true) refuse_config("fp16 and bf16 are both true", "Keep one.");
  const bool is_full = !fp16.value_or(false) && !bf16.value_or(false) && (fp16 || bf16);
  if (is_full) return "none";
  if (names_scale(config)) return "constant";
  return bf16 == true ? "none" : "";
}

bool has_argument(const StateSection& config) {
  return std::ranges::any_of(config, [](const StateSection::Entry& entry) {
    return entry.name == "loss_scale" || std::ranges::find(unread, entry.name) != unread.end();
  });
}

/// The parameters of the dynamic scaler by the policy's names.
StateSection renamed(const StateSection& config) {
  StateSection named;
  for (const auto& [key, value] : config) {
    if (key == "loss_scale" || key == "fp16" || key == "bf16") continue;
    const auto argument = std::ranges::find(arguments, key, &Argument::name);
    const std::string_view name = argument == arguments.end() ? std::string_view(key) : argument->parameter;
    if (named.find(name) != nullptr || (name != key && config.find(name) != nullptr)) {
      refuse_config(fmt::format("{} and {} are the same parameter", key, name), "Keep one of the names.");
    }
    named.set(name, value);
  }
  return named;
}

}  // namespace

StateSection without_megatron_arguments(const StateSection& config, std::string_view policy) {
  if (policy != "megatron" || !has_argument(config)) return config;
  if (config.find("variant") != nullptr) return config;
  const std::string_view variant = choice(config);
  if (variant.empty()) return renamed(config);
  StateSection chosen = config;
  for (const std::string_view key : unread) chosen.erase(key);
  if (variant == "none") chosen.erase("loss_scale");
  chosen.set("variant", std::string(variant));
  return chosen;
}

}  // namespace tare
