// JSON, as sidecars of checkpoints are written: small files, read whole, with the place of every number.
#pragma once

#include <memory>

#include "lib/container/container.hpp"
#include "lib/container/plain_tree.hpp"

namespace tare {

/// The values of `text`, as Python's json reads them (NaN and Infinity are numbers). `source` names it in messages.
/// Throws `corrupt` for what is no JSON, `refused` where it asks for more than lib/base/limits.hpp allows, or for more
/// than is left of `budget`: that of the file that it stands in; null: of the text alone.
PlainTree read_json(ByteView text, const std::string& source, std::shared_ptr<Budget> budget = nullptr);

/// Throws `refused` for more than limits::max_small_text_bytes, and what read_json throws.
std::unique_ptr<Container> open_json(const std::shared_ptr<const Source>& source);

}  // namespace tare
