// What was read of an object, by where it stands, for whoever asks for a part of it again.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "lib/base/bytes.hpp"

namespace tare {

/// How long a run stays.
enum class Keep : std::uint8_t {
  always,
  for_now,  ///< until drop_passing()
};

class KeptRanges {
 public:
  /// `range` without what is known at its begin and at its end; of size 0 where all of it is known.
  [[nodiscard]] Span missing(Span range) const;
  /// All of the first `size` bytes that is unknown on either side of `missing`, and `missing` itself.
  [[nodiscard]] Span gap_around(Span missing, std::uint64_t size) const;
  /// Are there no more than so many bytes between `range` and one that is known, before it or behind it?
  [[nodiscard]] bool is_near(Span range, std::uint64_t distance) const;
  /// Fills what is known at the begin and at the end of `to`, which stands at `offset`; all of it where nothing is
  /// missing.
  void copy_known(std::uint64_t offset, std::span<std::byte> to) const;
  /// Bytes that stand at `offset`. What is known already stays as it is.
  void keep(std::uint64_t offset, ByteView bytes, Keep how_long);
  /// How many bytes are kept until drop_passing().
  [[nodiscard]] std::uint64_t passing_bytes() const { return passing_bytes_; }
  void drop_passing();

 private:
  struct Run {
    Bytes bytes;
    Keep how_long;
  };
  using Runs = std::map<std::uint64_t, Run>;

  /// The run that has the byte at `offset`; else the end.
  [[nodiscard]] Runs::const_iterator run_with(std::uint64_t offset) const;
  [[nodiscard]] std::uint64_t known_from(std::uint64_t offset, std::uint64_t end) const;
  [[nodiscard]] std::uint64_t known_until(std::uint64_t end, std::uint64_t begin) const;

  Runs runs_;  ///< by offset; none has a byte of another
  std::uint64_t passing_bytes_ = 0;
};

}  // namespace tare
