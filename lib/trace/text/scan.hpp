// Lines of a log, and among gigabytes of them those few that could tell of a scale.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/byte_stream.hpp"
#include "lib/trace/input.hpp"
#include "lib/trace/text/line_shape.hpp"

namespace tare {

/// The first trigger in [from, text.size()); text.size() where there is none.
std::size_t find_trigger(std::string_view text, std::size_t from);

/// Takes lines; true: it wants the next one as well, whatever is in it, because a message may go on there.
using TakeLine = std::function<bool(const Line&)>;

enum class WhichLines : std::uint8_t { with_trigger, all };

/// Of the same file, in slices before this one.
struct ScannedBefore {
  std::uint64_t lines = 0;
  bool wants_more = false;  ///< what TakeLine answered last
};

/// Reads `stream` to its end, line by line, in little memory, and gives the lines that are wanted. A line ends at a
/// newline or a carriage return, and where it is longer than any log's. Escape sequences of terminals are taken out,
/// and a line that a collector wrapped in JSON is unwrapped.
void scan_lines(ByteStream& stream, WhichLines which, const TakeLine& take, const ScannedBefore& before = {});

/// From `begin`, in slices of some 64 MiB. What no newline ends is left for later, unless it is longer than a line.
WholePart whole_lines(const Source& file, std::uint64_t begin);

/// The number that stands for the rank or host that a collector wrote before the line: `[default7]:`, `7: `, `node3: `,
/// `(RayTrainWorker pid=7)`, `[1,7]<stdout>:`. 0: none.
std::uint32_t teller_of(std::string_view line);

/// Without escape sequences; `kept` holds the text where there were some.
std::string_view without_escapes(std::string_view line, std::string& kept);

}  // namespace tare
