// The files of a transaction, as the file system knows them, and what is refused about each.
#pragma once

#include <string>
#include <vector>

#include "lib/transaction/transaction.hpp"

namespace tare {

struct Target {
  const FileEdit* edit = nullptr;
  std::string path;  ///< absolute, without symlinks
  bool is_through_link = false;
};

/// The targets of the edits, each file once. Throws `invalid_argument` where two edits of one file differ, `refused`
/// for content-addressed names.
std::vector<Target> targets_of(FileLayer& files, const std::vector<FileEdit>& edits, const TransactionOptions& options);

/// The deepest folder that contains all targets. REQUIRES: at least one.
std::string common_folder(const std::vector<Target>& targets);

/// `path` below `folder`.
std::string relative_to(const std::string& folder, const std::string& path);

/// Throws `refused` for what is no regular file, and for one of several names.
void require_editable(const FileStamp& stamp, const std::string& path, bool allow_hard_links);

/// Opens a file that is to be edited, for reading. Throws likewise, and where there is no right to write.
OpenedFile open_editable(const Place& place, bool allow_hard_links);

/// Throws `refused` unless the file is still the one that was planned: same inode, size and mtime.
void require_as_planned(const OpenedFile& opened, const FileStamp& planned);

}  // namespace tare
