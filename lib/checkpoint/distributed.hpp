// torch's distributed checkpoints as they lie on disk: folders with a metadata file in them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/source.hpp"
#include "lib/container/container.hpp"
#include "lib/container/source_folder.hpp"

namespace tare {

/// ".metadata", or "__3.metadata" where each rank wrote its own.
bool is_distributed_metadata(std::string_view file_name);

/// A folder of the file system. Names lead to files inside it, or are refused.
class Directory final : public SourceFolder {
 public:
  explicit Directory(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] std::shared_ptr<const Source> open(const std::string& name) const override { return file(name); }
  /// The same; each file is opened once.
  [[nodiscard]] std::shared_ptr<const FileSource> file(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  mutable std::map<std::string, std::shared_ptr<const FileSource>> files_;
};

struct Distributed {
  std::unique_ptr<Container> container;
  std::string contents;                ///< what is stored there, in words
  std::vector<std::string> all_files;  ///< that its metadata names, read or not
};

/// Opens the checkpoint that the metadata file `name` describes, and reads of it what can be scaler state.
Distributed open_distributed(const std::shared_ptr<const SourceFolder>& folder, const std::string& name);

}  // namespace tare
