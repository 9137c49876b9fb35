// The folder of a container that spans several files.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/source.hpp"

namespace tare {

class SourceFolder {
 public:
  /// `budget`: of the files that are opened in it.
  explicit SourceFolder(std::shared_ptr<Budget> budget = Budget::of_files("the folder")) : budget_(std::move(budget)) {}
  virtual ~SourceFolder() = default;
  /// The file of that name in the folder. Names come out of files: throws `refused` for one that leaves the folder,
  /// `io` where it cannot be opened.
  [[nodiscard]] virtual std::shared_ptr<const Source> open(const std::string& name) const = 0;
  /// Is there such a file? No, for a name that leaves the folder.
  [[nodiscard]] virtual bool has(const std::string& name) const = 0;
  /// The names of the folders in it, in order. Throws `io` where they cannot be listed.
  [[nodiscard]] virtual std::vector<std::string> folders() const { return {}; }

  /// What reading its files may cost together. For what is made of several; each file has its own as well.
  [[nodiscard]] const std::shared_ptr<Budget>& budget() const { return budget_; }

 private:
  std::shared_ptr<Budget> budget_;
};

}  // namespace tare
