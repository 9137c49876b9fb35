// Tar archives (POSIX.1-1988, ustar) as torch wrote them: plain files, one behind the other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/source.hpp"

namespace tare {

inline constexpr std::uint64_t tar_block_size = 512;

struct TarMember {
  std::string name;
  Span data;
};

struct TarArchive {
  std::vector<TarMember> members;
  std::vector<std::string> doubts;  ///< in words: what a reader of tars may take for something else, or never reads

  /// The last one of that name, as Python's tarfile takes it; or null.
  [[nodiscard]] const TarMember* find(std::string_view name) const;
};

/// Throws `corrupt` where a member's size is none or passes the end.
TarArchive read_tar(const Source& source);

}  // namespace tare
