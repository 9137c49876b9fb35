// What a large pickle says, without the bytes of its large arrays: Paddle keeps every tensor in the pickle itself. They
// stay in the file, and in the text that is read their opcodes have arguments of no bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/base/source.hpp"
#include "lib/container/file_change.hpp"

namespace tare {

/// In bytes. Nobody asks for the values of an array as large as those that are left out.
struct ElidedTextSizes {
  std::uint64_t most_whole = std::uint64_t{1} << 20;       ///< files up to this are read whole
  std::uint64_t left_out_from = std::uint64_t{128} << 10;  ///< arguments of so many bytes are left out
};

class ElidedText {
 public:
  /// Reads the pickle at `begin` of `source`, and what stands in front of it; small files whole. Throws `corrupt` where
  /// an opcode is none or passes the end, and `refused` for more text than lib/base/limits.hpp allows.
  explicit ElidedText(const Source& source, std::uint64_t begin = 0, ElidedTextSizes sizes = {});

  [[nodiscard]] const std::shared_ptr<const Bytes>& text() const { return text_; }
  /// Where in the file that byte of the text stands.
  [[nodiscard]] std::uint64_t in_file(std::uint64_t offset) const;
  /// A change of the text as one of the file. Throws `refused` where bytes that were left out stand between the first
  /// byte that changes and the last.
  [[nodiscard]] FileChange placed(FileChange change) const;

 private:
  struct Gap {
    std::uint64_t offset;  ///< in the text: of what stands behind it
    std::uint64_t size;
  };

  std::shared_ptr<const Bytes> text_;
  std::vector<Gap> gaps_;  ///< in their order
};

}  // namespace tare
