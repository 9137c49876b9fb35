// A folder of its own for one test, on the real file system, with files to edit.
#pragma once

#include <string>
#include <vector>

#include "lib/transaction/history.hpp"
#include "lib/transaction/transaction.hpp"

namespace tare::test {

class Scratch {
 public:
  Scratch();
  /// In that folder, where it exists: one in memory, for tests that would wait for a disk.
  explicit Scratch(const std::string& parent);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// Absolute, without symlinks.
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  /// Makes the folders of `name` too; the file is an hour old.
  std::string write(const std::string& name, const Bytes& bytes) const;
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::string folder_;
};

Bytes bytes_of(const std::string& path);
struct stat stat_of(const std::string& path);
bool exists(const std::string& path);
/// The names in a folder, sorted.
std::vector<std::string> names_in(const std::string& folder);

/// An edit that puts `after` at `offset`, planned on the file as it is.
FileEdit patch_edit(const std::string& path, std::uint64_t offset, const Bytes& after);

/// Commits one such edit on the real file system, recorded as `scale` becoming `to`.
Receipt edit(const std::string& path, std::uint64_t offset, const Bytes& after, const std::string& to = "1024.0",
             const TransactionOptions& options = {});

/// Every edit of the scope on record.
std::vector<HistoryEntry> history_of(const Scope& scope);

}  // namespace tare::test
