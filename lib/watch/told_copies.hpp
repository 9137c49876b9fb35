// Files that grow with the same contents: what one of them told, the others need not tell again.
#pragma once

#include <memory>

#include "lib/trace/run_reader.hpp"
#include "lib/watch/growing_file.hpp"

namespace tare {

/// How far copies of one text were read, and in which of them.
struct ToldCopies {
  std::shared_ptr<GrowingFile> furthest;  ///< null: it was begun anew, and the others are copies of what it was
  WholePart read = {};
};

/// How many bytes from `begin` to `end`, as far as both files go, are the same in both.
std::uint64_t same_bytes(const Source& a, const Source& b, std::uint64_t begin, std::uint64_t end);

/// Of `file`, read to `read`: whether it is a copy still; `read` moves over what another copy has told.
bool pass_over_told(const ToldCopies& told, RunFileKind kind, const std::shared_ptr<GrowingFile>& file,
                    WholePart& read);

}  // namespace tare
