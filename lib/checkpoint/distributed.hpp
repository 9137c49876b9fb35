// torch's distributed checkpoints as they lie on disk: folders with a metadata file in them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/files.hpp"
#include "lib/base/source.hpp"
#include "lib/container/container.hpp"
#include "lib/container/source_folder.hpp"

namespace tare {

/// ".metadata", or "__3.metadata" where each rank wrote its own.
bool is_distributed_metadata(std::string_view file_name);
/// Such a file, or one of the `.distcp` files that it describes: it stands for the whole in its folder.
bool is_distributed_part(std::string_view file_name);

/// A folder of a checkpoint. Names lead to files inside it, or are refused. For one thread.
class Directory final : public SourceFolder {
 public:
  /// Borrows `files`.
  Directory(const Files& files, std::string path) : files_(files), path_(std::move(path)) {}

  /// Each file is opened once.
  [[nodiscard]] std::shared_ptr<const Source> open(const std::string& name) const override;
  [[nodiscard]] bool has(const std::string& name) const;

 private:
  const Files& files_;
  std::string path_;
  mutable std::map<std::string, std::shared_ptr<const Source>> opened_;
};

struct Distributed {
  std::unique_ptr<Container> container;
  std::string contents;                ///< what is stored there, in words
  std::vector<std::string> all_files;  ///< that its metadata names, read or not
  bool is_megatron = false;            ///< Megatron-core wrote it
};

/// Opens the checkpoint that the metadata file `name` describes, and reads of it what can be scaler state.
Distributed open_distributed(const std::shared_ptr<const SourceFolder>& folder, const std::string& name);

}  // namespace tare
