// What CPython's unpicklers, the one in C and the one in Python, of 3.8 to 3.14, would do with any bytes, whatever
// format they are in: how far they come before they give up, and what they would import on the way. Nothing is run,
// nothing is built.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/base/source.hpp"
#include "lib/container/container.hpp"

namespace tare {

enum class ProbeEnd : std::uint8_t {
  fails,    ///< no import and no call is reached, by any of them
  imports,  ///< a class or function would be imported, and could be called next
  differs,  ///< a read crosses the end of a frame, or frames nest: what follows depends on the unpickler
  goes_on,  ///< too much of it is opcodes to say
};

struct PickleProbe {
  ProbeEnd end = ProbeEnd::fails;
  std::uint64_t offset = 0;              ///< of the opcode that decides
  std::vector<GlobalName> globals;       ///< all that would be imported, up to where it breaks off; each once
  std::uint64_t calls = 0;               ///< opcodes that call, instantiate or give state
  std::optional<std::uint64_t> unnamed;  ///< the first opcode that imports what only running the pickle would tell
};

/// Tries `source` from `begin`, and behind a whole pickle from the byte after that, as loaders of several do. What
/// cannot be decided without values counts as taken: it may say `imports` of bytes that would fail before. Behind the
/// first import all that is called counts as done. Throws `refused` where the names are more than the budget allows.
PickleProbe probe_pickle(const Source& source, std::uint64_t begin = 0);

/// Of a pickle that begins at `begin`.
struct PickleScan {
  std::uint64_t end = 0;                ///< one behind STOP; where it breaks off, the place of that
  std::uint64_t calls = 0;              ///< opcodes that call, instantiate or give state
  bool is_whole = false;                ///< STOP was reached
  bool is_read_by_weights_only = true;  ///< every opcode is one that torch's unpickler knows
  bool has_plain_frames = true;  ///< every frame is used as CPython's pickler uses it: all unpicklers read the same
};

PickleScan scan_pickle(const Source& source, std::uint64_t begin);

}  // namespace tare
