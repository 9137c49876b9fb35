// Pickles that stand in a file of unknown layout: nothing says how long they are, and gigabytes may follow. What is
// loaded grows only as far as their opcodes reach.
#pragma once

#include <cstdint>

#include "lib/base/bytes.hpp"
#include "lib/base/source.hpp"

namespace tare {

class ScanAhead {
 public:
  /// REQUIRES: `source` outlives it.
  explicit ScanAhead(const Source& source) : source_(source) {}

  /// Where the pickle that starts at `begin` ends, one behind STOP; loads all of it. Where it is damaged: how far it
  /// can be followed, so that whoever reads it says what is wrong. Throws `refused` for one beyond lib/base/limits.hpp.
  std::uint64_t end_of(std::uint64_t begin);
  /// What is loaded so far, from the first byte of the source.
  [[nodiscard]] ByteView bytes() const { return bytes_; }

 private:
  /// Loads at least the first `size` bytes of the source; whether it has them.
  bool reach(std::uint64_t size);
  [[nodiscard]] std::uint64_t counted(std::uint64_t at, std::uint64_t length_bytes);
  [[nodiscard]] std::uint64_t line(std::uint64_t at);
  [[nodiscard]] std::uint64_t step(std::uint64_t at);

  const Source& source_;
  Bytes bytes_;
};

}  // namespace tare
