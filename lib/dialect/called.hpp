// How a message calls a scaler, or its place.
#pragma once

#include <string>
#include <string_view>

namespace tare {

/// The path in quotation marks; one that is the whole file has none, and is "the state".
std::string called(std::string_view path);

}  // namespace tare
