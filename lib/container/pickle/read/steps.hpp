// The opcodes of a pickle one after the other, in a source of any size and of any content: a window is read, arguments
// are stepped over. For bytes that nobody promised to be a pickle.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/base/source.hpp"
#include "lib/container/pickle/read/opcode.hpp"

namespace tare {

class PickleSteps {
 public:
  /// What one opcode takes.
  struct Step {
    Opcode code{};
    std::uint64_t begin = 0;  ///< of the opcode byte
    std::uint64_t end = 0;    ///< one behind its argument
    bool is_cut = false;      ///< its last line ends with the source: CPython's Python unpickler takes that for a line
  };

  /// REQUIRES: `source` outlives it.
  PickleSteps(const Source& source, std::uint64_t begin) : source_(source), at_(begin) {}

  /// Nothing where no loader reads on, at a byte that is no opcode or an argument that passes the end; and at a line
  /// beyond limits::max_pickle_bytes, of which `is_too_long` tells.
  std::optional<Step> next();
  /// The step that next() gave, by its begin.
  [[nodiscard]] Step at(std::uint64_t begin);
  [[nodiscard]] bool is_too_long() const { return is_too_long_; }
  /// Up to `most` bytes behind the opcode byte of `step`, not beyond its end.
  [[nodiscard]] std::string argument(const Step& step, std::uint64_t most);
  /// Where next() reads.
  [[nodiscard]] std::uint64_t position() const { return at_; }

 private:
  /// The next bytes from `from` on, `wanted` of them or as many as there are; valid until the next call.
  ByteView ahead(std::uint64_t from, std::uint64_t wanted);
  /// As ahead(), and all that was read behind them.
  ByteView at_least(std::uint64_t from, std::uint64_t wanted);
  [[nodiscard]] std::optional<std::uint64_t> counted(std::uint64_t length_bytes);
  /// One behind the newline at or behind `from`; the end of the source where there is none.
  [[nodiscard]] std::optional<std::uint64_t> line_end(std::uint64_t from);

  const Source& source_;
  std::uint64_t at_;
  Bytes window_;
  std::uint64_t window_at_ = 0;
  bool is_too_long_ = false;
};

}  // namespace tare
