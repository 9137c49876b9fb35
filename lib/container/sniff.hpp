// What bytes look like that are in no format that tare reads: so that a message can say more than "unknown".
#pragma once

#include <string>

#include "lib/base/bytes.hpp"
#include "lib/base/error.hpp"

namespace tare {

/// The first bytes of a file that a guess may rest on.
inline constexpr std::uint64_t sniffed_bytes = 512;

/// "a gzip file", "an empty file", "a web page" ..., with what to do about it in `hint`.
struct Likeness {
  std::string what;
  std::string hint;
};
Likeness likeness_of(ByteView head);

/// Whether it was thrown for a file that is damaged, was never written to its end, or is not here (empty, of zeros, a
/// pointer of Git LFS), and not for one of another kind.
bool tells_of_damage(const Error& error);

/// Text that starts as a JSON object or list of anything does.
bool starts_like_json(ByteView head);

}  // namespace tare
