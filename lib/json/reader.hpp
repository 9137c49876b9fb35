// JSON with the place of every value.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lib/base/bytes.hpp"
#include "lib/tree/plain_tree.hpp"

namespace tare {

/// The values of `text`, as Python's json reads them (NaN and Infinity are numbers). `source` names it in messages.
/// Throws `corrupt` for what is no JSON, `refused` where it asks for more than lib/base/limits.hpp allows, or for more
/// than is left of `budget`: that of the file that it stands in; null: of the text alone.
PlainTree read_json(ByteView text, const std::string& source, std::shared_ptr<Budget> budget = nullptr);

/// The members of the object that `text` is, a few at a time, so that memory does not grow with it: `take` gets a map
/// of some of them, with their places in the whole text, which is gone when the next ones are read. A name that is
/// there twice is told where both are in one map. Throws what read_json throws, and `corrupt` where `text` is no
/// object.
void read_json_members(ByteView text, const std::string& source, const std::shared_ptr<Budget>& budget,
                       const std::function<void(const PlainTree& some)>& take);

}  // namespace tare
