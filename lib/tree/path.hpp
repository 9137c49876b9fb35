// The address of a node: dots for keys, [i] for list items, "" for the root. Compared as text, never parsed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tare {

/// "state" + "scaler" -> "state.scaler"; "" + "scaler" -> "scaler". Nothing is escaped.
std::string key_path(std::string_view parent, std::string_view key);
/// "scalers" + 1 -> "scalers[1]"
std::string item_path(std::string_view parent, std::size_t index);

/// "deepspeed.runtime.fp16.loss_scaler" has the part "fp16", not the part "scaler".
bool has_part(std::string_view dotted, std::string_view part);

}  // namespace tare
