// What every configuration has: values taken out of its members, and what is said of bad ones.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/state/value.hpp"

namespace tare {

/// Throws `invalid_argument`: "the configuration: ...".
[[noreturn]] void refuse_config(std::string_view message, const std::string& hint = {});

/// The text of that name, empty where there is none. Throws `invalid_argument` for what is no text, or empty.
std::string text_in_config(const StateSection& config, std::string_view key);

/// The number behind "cuda:", 0 where there is none; -1 for "cpu"; nothing for any other text.
std::optional<int> find_cuda_device(std::string_view device);

/// That of "device"; -1 where there is none.
int cuda_device_in_config(const StateSection& config);

/// What "threads" says; null: 1.
unsigned thread_count(const StateValue* threads);

}  // namespace tare
