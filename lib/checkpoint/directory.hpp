// A folder of a checkpoint of several files, whose parts name each other.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "lib/base/files.hpp"
#include "lib/container/source_folder.hpp"

namespace tare {

/// Names lead to files inside it, or are refused. Of many files few stay open. For one thread.
class Directory final : public SourceFolder {
 public:
  /// Borrows `files`. `whole`: the budget of all that is read with it, if there is one.
  Directory(const Files& files, std::string path, std::shared_ptr<Budget> whole)
      : SourceFolder(Budget::of_files(path, std::move(whole))), files_(files), path_(std::move(path)) {}

  /// Each file is opened once, whatever names lead to it.
  [[nodiscard]] std::shared_ptr<const Source> open(const std::string& name) const override;
  [[nodiscard]] bool has(const std::string& name) const override;
  [[nodiscard]] std::vector<std::string> folders() const override;

 private:
  const Files& files_;
  std::string path_;
  mutable std::map<std::string, std::shared_ptr<const Source>> opened_;
  mutable std::map<std::pair<dev_t, ino_t>, std::shared_ptr<const Source>> by_identity_;
};

/// The folder that the file at `location` lies in. `whole` as Directory has it.
std::shared_ptr<const Directory> directory_of(const Files& files, const std::string& location,
                                              std::shared_ptr<Budget> whole = nullptr);

}  // namespace tare
