// JSON with the place of every value.
#pragma once

#include <memory>
#include <string>

#include "lib/base/bytes.hpp"
#include "lib/tree/plain_tree.hpp"

namespace tare {

/// The values of `text`, as Python's json reads them (NaN and Infinity are numbers). `source` names it in messages.
/// Throws `corrupt` for what is no JSON, `refused` where it asks for more than lib/base/limits.hpp allows, or for more
/// than is left of `budget`: that of the file that it stands in; null: of the text alone.
PlainTree read_json(ByteView text, const std::string& source, std::shared_ptr<Budget> budget = nullptr);

}  // namespace tare
