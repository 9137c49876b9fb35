#include "lib/scaler/config_values.hpp"

#include <fmt/format.h>

#include <charconv>

#include "lib/base/error.hpp"

namespace tare {
namespace {

constexpr std::int64_t most_threads = 1024;

}  // namespace

void refuse_config(std::string_view message, const std::string& hint) {
  std::string text("the configuration: ");
  throw Error(Status::invalid_argument, text.append(message), hint);
}

std::string text_in_config(const StateSection& config, std::string_view key) {
  const StateValue* value = config.find(key);
  if (value == nullptr) return {};
  const auto* text = std::get_if<std::string>(value);
  if (text == nullptr || text->empty()) refuse_config(fmt::format("\"{}\" is no text", key));
  return *text;
}

std::optional<int> find_cuda_device(std::string_view device) {
  if (device == "cpu") return -1;
  if (device == "cuda") return 0;
  int ordinal = -1;
  const char* end = device.data() + device.size();
  if (device.starts_with("cuda:") && device.size() <= 8) {
    const auto parsed = std::from_chars(device.data() + 5, end, ordinal);
    if (parsed.ec == std::errc() && parsed.ptr == end && ordinal >= 0) return ordinal;
  }
  return {};
}

int cuda_device_in_config(const StateSection& config) {
  const std::string device = text_in_config(config, "device");
  const std::optional<int> found = device.empty() ? -1 : find_cuda_device(device);
  if (found) return *found;
  refuse_config(fmt::format("there is no device \"{}\"", device), "Devices: cpu, cuda:0, cuda:1 ...");
}

unsigned thread_count(const StateValue* threads) {
  if (threads == nullptr) return 1;
  const auto* count = std::get_if<std::int64_t>(threads);
  if (count == nullptr) refuse_config("threads is no whole number");
  if (*count >= 1 && *count <= most_threads) return static_cast<unsigned>(*count);
  refuse_config(fmt::format("threads is {}, allowed: 1 to {}", *count, most_threads));
}

}  // namespace tare
