#include <cmath>

#include "lib/base/error.hpp"
#include "lib/codec/json.hpp"
#include "lib/scaler/write_options.hpp"

namespace tare {
namespace {

double positive(const StateValue& value, const std::string& key) {
  const double number = number_of(value, key);
  if (std::isfinite(number) && number > 0) return number;
  throw Error(Status::invalid_argument, "the options' \"" + key + "\" is not a positive finite number");
}

}  // namespace

WriteOptions parse_write_options(const char* json) {
  WriteOptions options;
  if (json == nullptr || *json == '\0') return options;
  for (const auto& [key, value] : members_of_json(json, "the options")) {
    const bool unset = std::holds_alternative<std::monostate>(value);
    if (key == "clip_norm") {
      options.clip_norm = unset ? 0 : positive(value, key);
    } else if (key == "clip_value") {
      options.clip_value = unset ? 0 : positive(value, key);
    } else if (key == "unscale" && std::holds_alternative<bool>(value)) {
      options.unscale = std::get<bool>(value);
    } else {
      throw Error(Status::invalid_argument, "the options have no \"" + key + "\" of that kind",
                  "Options: unscale (true or false), clip_norm, clip_value");
    }
  }
  return options;
}

}  // namespace tare
